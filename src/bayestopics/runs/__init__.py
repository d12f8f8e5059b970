"""Runs: records on disk, checkpoints, and publishing to MLflow."""

# what each command returns, named and not imported: how a result is shown is no part of what made it
KINDS = {
    "fit": "bayestopics.runs.kinds:FitResult",
    "evidence": "bayestopics.runs.kinds:EvidenceResult",
    "topics": "bayestopics.runs.kinds:TopicPosteriorResult",
    "hyper": "bayestopics.runs.kinds:HyperResult",
    "select": "bayestopics.runs.kinds:SelectResult",
    "hdp": "bayestopics.runs.kinds:HdpResult",
    "score": "bayestopics.runs.kinds:ScoreResult",
}
