"""Study `first_look`: plain single-site Gibbs on a few corpora, from start to end.

One run is one chain. It records the log joint and the completion perplexity over the sweeps, and the topics of the last
sweep.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import effective_sample_size, mcse
from bayestopics.predict.completion import Completion, split
from bayestopics.runs.chain import Perplexity, chain_of_task
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.runs.words import topic_shares, topics_table

FEW_EFFECTIVE_DRAWS = 20


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    params = task.params
    # the key does not contain the chain, so that all chains of a corpus see the same split
    split_rng = generator(task.seed, f"{task.study}/{task.corpus}/split")
    training, heldout = split(corpus, params["heldout_documents"], split_rng)
    chain = chain_of_task(task, training, observer=Perplexity(Completion(heldout)), checkpoint=checkpoint)
    trace = chain.trace()
    kept = trace[len(trace) // 2 :]
    log_joint = kept["log_joint"].to_numpy()
    perplexity = kept["perplexity"].dropna().to_numpy()
    metrics: dict[str, float] = {
        "log_joint": float(log_joint.mean()),
        "log_joint_error": float(mcse(log_joint)),
        "log_joint_effective_draws": float(effective_sample_size(log_joint)),
        "perplexity": float(perplexity.mean()),
        "perplexity_last": float(perplexity[-1]),
        "training_tokens": training.token_count,
        "heldout_tokens": heldout.token_count,
    }
    warnings = []
    if metrics["log_joint_effective_draws"] < FEW_EFFECTIVE_DRAWS:
        warnings.append(
            "The chain still drifts, so its standard errors are too small; run more sweeps. Its second half is worth "
            f"only {metrics['log_joint_effective_draws']:.1f} independent draws of the log joint."
        )
    seconds = float(np.sum(chain.seconds))
    return Result(
        task,
        metrics,
        warnings,
        tables={
            "trace": trace,
            "timing": chain.timing(),
            "topics": topics_table(training, chain.state.term_topic, params["eta"]),
            "shares": topic_shares(chain.state.term_topic),
        },
        volatile={
            "sampling_seconds": seconds,
            "tokens_per_second": training.token_count * len(chain.seconds) / seconds,
            "resumed": chain.resumed,
        },
    )
