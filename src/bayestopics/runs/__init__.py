"""Runs: from a task to a result and its record on disk; checkpoints, exports, and publishing to MLflow."""

# the class that each command returns; named but not imported, so that the code hash of a run does not cover how its
# result is shown
KINDS = {
    "fit": "bayestopics.runs.fit_result:FitResult",
    "evidence": "bayestopics.runs.kinds:EvidenceResult",
    "topics": "bayestopics.runs.kinds:TopicPosteriorResult",
    "hyper": "bayestopics.runs.kinds:HyperResult",
    "select": "bayestopics.runs.select_result:SelectResult",
    "hdp": "bayestopics.runs.kinds:HdpResult",
    "infer": "bayestopics.runs.infer_result:InferResult",
    "score": "bayestopics.runs.score_result:ScoreResult",
}
