"""Annealed estimates for PMMH against enumeration: unbiased together with their z, and the chain on them exact.

The negative controls leave out a part, and the same checks refuse what is left.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from test_pmmh import RUN, Always, Killed, Seen, check_same
from test_pmmh_law import Together

import oracle
from bayestopics.base.problems import InputError
from bayestopics.evidence import annealed, reference
from bayestopics.evidence import pmmh as pmmh_module
from bayestopics.evidence.annealed import Annealed, AnnealedEstimates
from bayestopics.evidence.pmmh import TopicPosterior, Walk
from bayestopics.evidence.recipe import FRESH
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from pmmh_oracle import FALSE_ALARM, PRIOR, RANGE, check_means, check_posterior, expectation, small, tiny

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
MANY = 1000

# -- an estimate and its z ------------------------------------------------------------------------------


def statistics(z: np.ndarray) -> np.ndarray:
    """For each row of z: 1, whether token i has topic t, and whether tokens i and j share one."""
    first, second = np.triu_indices(z.shape[1], 1)
    labels = z[:, :, None] == np.arange(3)
    return np.column_stack([np.ones(len(z)), labels.reshape(len(z), -1), z[:, first] == z[:, second]])


def check_joint_law(two_paths: bool, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """E[estimate f(z)] = sum_z p(w, z) f(z), in units of standard errors; normal, Bonferroni."""
    prior = Prior(0.3, 0.2)
    monkeypatch.setattr(reference, "OFTEN", -1.0 if two_paths else 1.0)
    exact = oracle.enumerate_all(CORPUS, 3, prior)
    estimates = AnnealedEstimates(CORPUS, prior, Annealed(steps, runs=2, pilot=30), seed=5)
    made = [estimates.make(3, number) for number in range(MANY)]
    assert {len(one.log_summands) for one in made} == {2 + 2 * two_paths}
    ratios = np.exp(np.array([one.log_estimate for one in made]) - exact.log_evidence)
    columns = ratios[:, None] * statistics(np.array([one.assignments for one in made]))
    error = columns.std(axis=0, ddof=1) / np.sqrt(MANY)
    scores = (columns.mean(axis=0) - exact.posterior @ statistics(exact.assignments)) / error
    limit = norm.isf(FALSE_ALARM / 2 / len(scores))
    assert np.abs(scores).max() < limit, f"the largest is {np.abs(scores).max():.1f} standard errors off"


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("two_paths", [False, True])
def test_an_estimate_and_its_z_have_their_joint_law(
    two_paths: bool, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_joint_law(two_paths, steps, monkeypatch)


def test_a_z_with_the_labels_of_the_reference_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealed, "_relabelled", lambda z, topics, rng: z)
    with pytest.raises(AssertionError, match="standard errors off"):
        check_joint_law(False, 1, monkeypatch)


def test_an_estimate_is_the_mean_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of one path and of two: each run has the same weight in the mean."""
    z = np.zeros(5, np.int32)
    runs = iter([[(np.log(8.0), z)], [(np.log(3.0), z), (0.0, z)]])
    monkeypatch.setattr(reference, "paths", lambda *_: next(runs))
    made = AnnealedEstimates(CORPUS, PRIOR, Annealed(1, runs=2, pilot=1), seed=6).make(3, 0)
    assert np.isclose(made.log_estimate, np.log((8 + (3 + 1) / 2) / 2))


@pytest.mark.parametrize("wrong", [False, True])
def test_the_path_of_z_is_chosen_by_its_weight(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 3 and 1: the first z in three quarters of the cases. A choice at random is refused."""
    together, apart = np.zeros(5, np.int32), np.array([0, 1, 1, 1, 1], np.int32)
    monkeypatch.setattr(reference, "paths", lambda *_: [(np.log(3.0), together), (0.0, apart)])
    if wrong:
        monkeypatch.setattr(annealed, "_choose", lambda log_weights, rng: int(rng.integers(2)))
    estimates = AnnealedEstimates(CORPUS, PRIOR, Annealed(1, runs=2, pilot=1), seed=6)
    made = [estimates.make(3, number) for number in range(MANY)]
    assert np.allclose([one.log_estimate for one in made], np.log(2.0))
    share = np.mean([np.ptp(one.assignments) == 0 for one in made])
    assert (abs(share - 0.75) < norm.isf(FALSE_ALARM / 2) * np.sqrt(3 / 16 / MANY)) == (not wrong)


def test_an_estimate_of_zero_is_one() -> None:
    """No draw of the reference is in its region: the weight is 0, and there is a z all the same."""
    rng = np.random.default_rng(1)
    assert annealed._choose(np.array([-np.inf, -3.0]), rng) == 1
    assert annealed._choose(np.array([-np.inf]), rng) == 0


def test_estimates_of_a_chain_share_their_pilot_runs_and_fresh_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    right, calls = reference.find_topics, []
    monkeypatch.setattr(reference, "find_topics", lambda *of: calls.append(of[1]) or right(*of))
    inner = Annealed(2, runs=2, pilot=3)
    estimates = AnnealedEstimates(CORPUS, PRIOR, inner, seed=1)
    keys = [(3, 0, "chain-0"), (3, 1, "chain-0"), (4, 0, "chain-0"), (3, 0, "chain-1"), (3, 0, FRESH), (3, 1, FRESH)]
    made = estimates.make_all(keys)
    assert calls == [topics for topics in (3, 4, 3, 3, 3) for _ in range(2)]  # one for each run
    assert len({one.log_estimate for one in made}) == len(keys)
    again = AnnealedEstimates(CORPUS, PRIOR, inner, seed=1).make_all(keys[::-1])[::-1]
    assert [one.log_estimate for one in again] == [one.log_estimate for one in made]


# -- the chain ------------------------------------------------------------------------------------------


def chain(iterations: int = 2500, **options: Any) -> TopicPosterior:
    walk = Walk(RANGE, (4,), iterations)
    return pmmh_module.pmmh(tiny(), PRIOR, walk, Annealed(2, runs=1, pilot=20), seed=3, fresh=2, **options)


def test_topics_and_assignments_have_the_exact_posterior() -> None:
    together = Together(tiny().documents)
    check_posterior(chain(observer=together))
    check_means(np.array(together.steps), expectation(together.shared))


def test_a_chain_on_estimates_of_one_labelling_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference alone, without T! / (number of empty topics)!"""
    monkeypatch.setattr(reference, "OFTEN", 1.0)
    monkeypatch.setattr(reference, "log_labellings", lambda path: 0.0)
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(chain())


LONG = Walk(TopicPrior(2, 9), (2, 8), 25, 5)
SHORT = {"inner": Annealed(3, runs=2, pilot=10), "seed": 4, "fresh": 3}


@cache
def in_one_go() -> TopicPosterior:
    return pmmh_module.pmmh(small(), PRIOR, LONG, **SHORT, observer=Seen())


@pytest.mark.usefixtures("workers_here")
def test_two_workers_and_a_kill_change_no_bit(tmp_path: Path) -> None:
    checkpoint = Always(tmp_path, RUN)
    with pytest.raises(Killed):
        pmmh_module.pmmh(small(), PRIOR, LONG, **SHORT, observer=Seen(die_at=20), checkpoint=checkpoint)
    chains, seen, resumed = checkpoint.load()
    seen.die_at = 0
    checkpoint.save((chains, seen, resumed))
    result = pmmh_module.pmmh(small(), PRIOR, LONG, **SHORT, observer=Seen(), checkpoint=checkpoint, workers=2)
    assert result.volatile["resumed"] == 1
    check_same(result, in_one_go())


def test_impossible_lengths_are_refused() -> None:
    for wrong in ({"steps": 0}, {"runs": 0}, {"pilot": 0}):
        with pytest.raises(InputError, match="at least 1 run of 1 annealing step"):
            Annealed(**wrong)
