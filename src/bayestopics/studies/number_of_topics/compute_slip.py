"""Study `number_of_topics`, what if a constant were forgotten: PMMH whose estimates lack the factor G(V eta)^T.

The paper's numbers for the two real corpora are far from where the evidence is. Without this factor of p(w, z | T), one
G(V eta) a topic, the evidence has its top near them (table `constants`); here is what PMMH does without it. This shows
what would give such numbers, not what was done: the authors' program is not at hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.number_of_topics import compute_pmmh


@dataclass(frozen=True)
class Slipped(TopicPrior):
    """A uniform prior that takes G(V eta) from every topic: the same as estimates without it."""

    log_gamma: float = 0.0

    def log_density(self, topics: int) -> float:
        return -topics * self.log_gamma


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """As `compute_pmmh`, under this prior."""
    params = task.params
    prior = Slipped(params["least"], params["most"], log_gamma=math.lgamma(corpus.term_count * params["eta"]))
    return compute_pmmh.walk(task, corpus, checkpoint, prior, *before)
