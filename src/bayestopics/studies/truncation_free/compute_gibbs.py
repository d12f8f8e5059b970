"""Study `truncation_free`, the line to compare with: a Gibbs sampler of the HDP on the same training documents.

It sees the whole corpus in each sweep and starts from many topics, so it shows what there is to be found.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.hdp_gibbs import sweep
from bayestopics.nonparametric.hdp_held_out import left_to_right_of_states
from bayestopics.nonparametric.hdp_state import HdpPrior, from_arrays, log_joint, random_start, to_arrays
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.truncation_free.compute_stream import Stream, held_out

PRIOR = HdpPrior(gamma=1.0, concentration=1.0, eta=0.01)  # of the learners [Wang & Blei, section 3]


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Metrics: the held-out score of the last state, per word, its Monte Carlo error, and the number of topics."""
    params = task.params
    training = Corpus.from_sparse(Stream.of(corpus, task).counts, corpus.vocabulary)
    rng, done, seconds = task.generator("chain"), 0, 0.0
    saved: Any = checkpoint.load()
    if saved is None:
        state = random_start(training, PRIOR, params["start"], rng)
    else:
        arrays, done, seconds, rng.bit_generator.state = saved
        state = from_arrays(training, arrays)
    for number in range(done, params["sweeps"]):
        begin = time.process_time()
        state = sweep(state, rng)
        if not finite(log_joint(state)):
            raise not_finite("the log joint density", number, to_arrays(state))
        seconds += time.process_time() - begin
        if checkpoint.due():
            checkpoint.save((to_arrays(state), number + 1, seconds, rng.bit_generator.state))
    test = Corpus.from_sparse(held_out(corpus, task), corpus.vocabulary)
    found = left_to_right_of_states([state] * params["states"], test, params["particles"], task.generator("score"))
    error = found.standard_error if params["states"] > 1 else np.nan
    metrics = {"per_word": found.per_word, "error": error, "components": float(state.topics)}
    return Result(task, metrics, volatile={"learning_seconds": seconds})
