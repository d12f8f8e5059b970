"""Study `number_of_topics`, a forgotten constant: PMMH whose estimates lack the factor G(V eta)^T.

For the two real corpora, the paper's numbers of topics are far from where the evidence is largest. Without this factor
of p(w, z | T), one G(V eta) per topic, the evidence would be largest near the paper's numbers (table `constants`). This
module shows what PMMH does without it. It shows what would give such numbers, not what the authors did: their program
is not available.
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
    """A uniform prior divided by G(V eta) for every topic: this equals leaving the factor out of the estimates."""

    log_gamma: float = 0.0

    def log_density(self, topics: int) -> float:
        return -topics * self.log_gamma


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """The same as `compute_pmmh`, under this prior."""
    params = task.params
    prior = Slipped(params["least"], params["most"], log_gamma=math.lgamma(corpus.term_count * params["eta"]))
    return compute_pmmh.walk(task, corpus, checkpoint, prior, *before)
