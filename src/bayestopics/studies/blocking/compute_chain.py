"""Study `blocking`: does drawing all tokens of a (document, term) pair at once mix better? [Zhang & Sisson, section 4]

One run is one chain of one sampler. Run number r starts from the same random assignments and sees the same held-out
words for every sampler, so the runs differ only in the sampler. Each run records three statistics that do not depend on
the labels of the topics: the log joint (the paper's (12) plus a constant), the sum of squared topic shares, and, for a
fixed set of token pairs from the same document, the share of pairs in one topic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import autocorrelation_time
from bayestopics.lda.state import State
from bayestopics.predict.completion import Completion, split
from bayestopics.runs.chain import Perplexity, chain_of_task
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

PAIRS = 20_000
STATISTICS = ("log_joint", "squared_shares", "together")
LAST = 10  # the last tenth of a chain stands for where the chain ended


@dataclass
class Statistics:
    """Perplexity, and the label-invariant statistics of the assignments."""

    perplexity: Perplexity
    pairs: np.ndarray  # 2 x PAIRS tokens

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        shares = state.topic_total / state.topic_total.sum()
        first, second = state.assignments[self.pairs]
        row = {"squared_shares": float(np.sum(shares**2)), "together": float(np.mean(first == second))}
        return row | self.perplexity.observe(sweep, state)


def token_pairs(corpus: Corpus, rng: np.random.Generator) -> np.ndarray:
    """Random pairs of tokens; both tokens of a pair come from the same document."""
    first = rng.integers(corpus.token_count, size=PAIRS)
    offsets, document = corpus.document_offsets, corpus.documents[first]
    second = rng.integers(offsets[document], offsets[document + 1])
    return np.stack([first, second])


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    params = task.params
    shared = f"{task.study}/{task.corpus}"  # these keys leave the sampler out, so that all samplers share them
    training, heldout = split(corpus, params["heldout_documents"], generator(task.seed, f"{shared}/split"))
    pairs = token_pairs(training, generator(task.seed, f"{shared}/pairs"))
    start_rng = generator(task.seed, f"{shared}/start/{params['run']}")
    start = start_rng.integers(params["topics"], size=training.token_count)
    observer = Statistics(Perplexity(Completion(heldout)), pairs)
    chain = chain_of_task(task, training, start=start, observer=observer, checkpoint=checkpoint)
    trace = chain.trace()
    sweeps = len(trace)
    end, half = trace[sweeps - sweeps // LAST :], trace[sweeps // 2 :]
    metrics: dict[str, float] = {
        "log_joint": float(end["log_joint"].mean()),
        "log_joint_spread": float(end["log_joint"].std()),
        "perplexity": float(end["perplexity"].mean()),
    }
    metrics |= {f"autocorrelation_{name}": autocorrelation_time(half[name].to_numpy()) for name in STATISTICS}
    seconds = float(np.sum(chain.seconds))
    return Result(
        task,
        metrics,
        tables={"trace": trace.drop(columns="log_transition"), "timing": chain.timing()},
        volatile={
            "seconds_a_sweep": float(np.median(chain.seconds)),
            "sampling_seconds": seconds,
            "tokens_per_second": training.token_count * sweeps / seconds,
            "resumed": chain.resumed,
        },
    )
