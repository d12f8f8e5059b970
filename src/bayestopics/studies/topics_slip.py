"""Study `number_of_topics`, what if a constant were forgotten: PMMH whose estimates lack the factor G(V eta)^T.

The paper's numbers for the two real corpora are far from where the evidence is. Without this factor of p(w, z | T), one
G(V eta) a topic, the evidence has its top near them (table `constants`); here is what PMMH does without it. This shows
what would give such numbers, not what was done: the authors' program is not at hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.pmmh import pmmh
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Record, Run, Stopwatch


@dataclass(frozen=True)
class Slipped(TopicPrior):
    """A uniform prior that takes G(V eta) from every topic: the same as estimates without it."""

    log_gamma: float = 0.0

    def log_density(self, topics: int) -> float:
        return -topics * self.log_gamma


def compute(run: Run, corpus: Corpus, checkpoint: Checkpoint) -> Record:
    """As `topics_pmmh`: the first half of the chain is its burn-in."""
    watch, params = Stopwatch(), run.params
    burn_in = params["iterations"] // 2
    prior = Slipped(params["least"], params["most"], log_gamma=math.lgamma(corpus.term_count * params["eta"]))
    found = pmmh(
        corpus,
        Prior(params["alpha"], params["eta"]),
        topics=prior,
        starts=[params["start"]],
        inner=params["inner"],
        iterations=params["iterations"] - burn_in,
        burn_in=burn_in,
        seed=int(run.generator().integers(2**31)),
        sampler=params["sampler"],
        checkpoint=checkpoint,
    )
    metrics = {
        "mode": found.mode,
        "probability_of_mode": found.posterior[found.mode],
        "last_topics": int(found.trace["topics"].iloc[-1]),
        "running_mean": float(found.trace["topics"].mean()),
        "acceptance_rate": found.acceptance_rate,
        "log_estimate_sd": found.log_estimate_sd,
    }
    trace = found.trace.drop(columns="chain")
    return Record(run, metrics, found.warnings, tables={"trace": trace}, volatile=watch.volatile(**found.volatile))
