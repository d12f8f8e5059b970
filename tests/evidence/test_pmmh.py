"""PMMH over the number of topics: the same bits however it is run, whether to believe it, and what it refuses.

Its law is in test_pmmh_law.py.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from bayestopics.base.problems import InputError
from bayestopics.evidence import pmmh as module
from bayestopics.evidence.pmmh import Made, TopicPosterior, Wanted, given_by
from bayestopics.evidence.pseudo_marginal import Estimates, Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.task import Task
from pmmh_oracle import PRIOR, RANGE, noise, pmmh, run, small, tiny

# -- the same bits ----------------------------------------------------------------------------------

LONG = {"topics": TopicPrior(2, 9), "starts": [2, 8], "inner": 3, "iterations": 60, "burn_in": 10, "seed": 4}
RUN = Task("study", "smoke", "pmmh", {}, 4, "small", "f00d", "c0de")


@dataclass
class Seen:
    """A sum over all that is observed, by chain: it changes when anything does."""

    sums: dict[int, float] = field(default_factory=dict)
    die_at: int = 0
    seen: int = 0

    def observe(self, chain: int, step: int, topics: int, assignments: np.ndarray) -> None:
        value = float(assignments @ np.arange(len(assignments)))
        self.sums[chain] = 0.9 * self.sums.get(chain, 0.0) + value * topics + step
        self.seen += 1
        if self.seen == self.die_at:
            raise Killed


class Killed(BaseException):
    pass


class Always(Checkpoint):
    def due(self) -> bool:
        return True


def check_same(first: TopicPosterior, second: TopicPosterior) -> None:
    pd.testing.assert_frame_equal(first.trace, second.trace, check_exact=True)
    assert_array_equal(first.fresh_log_estimates, second.fresh_log_estimates)
    assert (first.posterior, first.rhat, first.warnings) == (second.posterior, second.rhat, second.warnings)
    assert first.observer.sums == second.observer.sums


@cache
def in_one_go(z_start: str) -> TopicPosterior:
    return pmmh(small(), PRIOR, **LONG, z_start=z_start, pilot_sweeps=5, observer=Seen())


def test_two_workers_and_a_kill_change_no_bit(tmp_path: Path) -> None:
    options = LONG | {"z_start": "pilot", "pilot_sweeps": 5, "workers": 2}
    checkpoint = Always(tmp_path, RUN)
    with pytest.raises(Killed):
        pmmh(small(), PRIOR, **options, observer=Seen(die_at=50), checkpoint=checkpoint)
    chains, seen, resumed = checkpoint.load()
    assert sum(len(chain.rows) for chain in chains) < 140  # how many is a matter of speed
    seen.die_at = 0
    checkpoint.save((chains, seen, resumed))
    result = pmmh(small(), PRIOR, **options, observer=Seen(), checkpoint=checkpoint)
    assert result.volatile["resumed"] == 1
    assert result.observer.seen == 120
    check_same(result, in_one_go("pilot"))


@pytest.mark.parametrize("die_at", [1, 77])
def test_killed_and_resumed_gives_the_same_bits(die_at: int, tmp_path: Path) -> None:
    checkpoint = Always(tmp_path, RUN)
    with pytest.raises(Killed):
        pmmh(small(), PRIOR, **LONG, observer=Seen(die_at=die_at), checkpoint=checkpoint)
    chains, seen, resumed = checkpoint.load()
    seen.die_at = 0
    checkpoint.save((chains, seen, resumed))
    result = pmmh(small(), PRIOR, **LONG, observer=Seen(), checkpoint=checkpoint)
    check_same(result, in_one_go("uniform"))
    again = pmmh(small(), PRIOR, **LONG, observer=Seen(), checkpoint=checkpoint)  # nothing is left to do
    check_same(again, result)


def test_a_longer_chain_begins_like_a_shorter_one() -> None:
    longer = pmmh(small(), PRIOR, **LONG | {"iterations": 70}).trace
    shorter = in_one_go("uniform").trace
    assert_array_equal(longer[longer["step"] < 70], shorter)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("workers_here")
def test_estimates_made_together_change_no_bit(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight at once with one worker, then one at a time, or eight with two workers."""
    expected = in_one_go("uniform")
    if workers == 1:
        monkeypatch.setattr(Inner, "together", 1)
    check_same(pmmh(small(), PRIOR, **LONG, pilot_sweeps=5, observer=Seen(), workers=workers), expected)


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
def test_a_chain_takes_its_estimates_from_one_with_more_inner_sweeps(sampler: str) -> None:
    """To the bit what it does on its own, and nearly nothing is left to be made."""
    options = {"topics": RANGE, "starts": [2], "iterations": 100, "seed": 7, "sampler": sampler}
    longer = pmmh(small(), PRIOR, inner=6, shorter=[1, 4], **options)
    assert (longer.trace["proposed"] == 2).sum() > 10  # the start's own number is put right
    for inner in (1, 4):
        alone = pmmh(small(), PRIOR, inner=inner, **options)
        given = given_by(longer.trace, 2, inner)
        taken = pmmh(small(), PRIOR, inner=inner, given=given, **options)
        assert_array_equal(taken.trace, alone.trace)
        assert_array_equal(taken.fresh_log_estimates, alone.fresh_log_estimates)
        assert len(given) == 100
        fresh = len(alone.fresh_log_estimates)
        assert taken.volatile["estimates"] - fresh < (alone.volatile["estimates"] - fresh) / 2
        wrong = {(chain, topics, number + 1): value for (chain, topics, number), value in given.items()}
        assert not pmmh(small(), PRIOR, inner=inner, given=wrong, **options).trace.equals(alone.trace)


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(InputError, match=r"does not begin with \[3\]"):
        pmmh(small(), PRIOR, topics=RANGE, starts=[2], inner=2, shorter=[3])
    two = pmmh(small(), PRIOR, topics=RANGE, starts=[2, 3], inner=2, shorter=[1], iterations=3)
    with pytest.raises(InputError, match="one chain"):
        given_by(two.trace, 2, 1)
    with pytest.raises(InputError, match="no assignments"):
        pmmh(small(), PRIOR, topics=RANGE, starts=[2], given={}, observer=Seen())


class Rounds(module._Here):
    """Two workers that finish at the same time, without the workers: counts the rounds."""

    rounds = 0

    def work(self, wishes: Iterable[Any]) -> None:
        new = (key for key in wishes if key not in self.made)
        for _, key in zip(range(2), new, strict=False):
            super().work([key])
        Rounds.rounds += 1


@pytest.mark.parametrize("sd", [0.5, 1.5, 50.0], ids=["moves", "moves less", "sticks"])
def test_what_is_made_ahead_is_used(sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers need little more than half of the rounds, on chains that move and on chains that stick."""
    monkeypatch.setattr(module, "_Here", Rounds)
    monkeypatch.setattr(Rounds, "rounds", 0)
    options = {"topics": TopicPrior(2, 100), "starts": [30], "iterations": 2000, "fresh": 2}
    result = run(lambda key: noise(key, sd), monkeypatch, **options)
    assert result.volatile["estimates"] < 1.1 * 2000
    assert Rounds.rounds < 2000 / 1.8


@pytest.mark.parametrize("sd", [0.5, 1.5, 50.0], ids=["moves", "moves less", "sticks"])
def test_what_is_made_together_is_used(sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = []

    def make(wanted: Wanted, keys: list[Any]) -> list[Made]:
        groups.append(keys)
        return [noise(key, sd) for key in keys]

    monkeypatch.setattr(module, "_make", make)
    pmmh(tiny(), PRIOR, topics=TopicPrior(2, 100), starts=[30], iterations=2000, fresh=2)
    keys = [key for group in groups for key in group]
    assert len(set(keys)) == len(keys) < 1.1 * 2000
    assert len(groups) < 2000 / 6


def test_no_estimate_is_made_by_two_workers() -> None:
    """Three groups of eight are under way at a time, and all keys are different."""
    submitted: list[Any] = []

    def submit(function: Any, keys: list[Any]) -> Future:
        submitted.extend(keys)
        future: Future = Future()
        if len(submitted) > 16:  # the first two take longer
            future.set_result([noise(key) for key in keys])
        return future

    makers = module._Pool(submit, 2, 8)
    wishes = [(0, 30 + (i % 3), i // 3) for i in range(100)]
    for calls in (1, 2, 3):
        makers.work([*wishes[:9], *wishes])  # a wish can come twice
        assert len(submitted) == len(set(submitted)) == 16 + 8 * calls
        assert len(makers.made) == makers.count == 8 * calls
        assert set(submitted[16:]) == set(makers.made)
    assert submitted == wishes[:40]


# -- whether to believe it --------------------------------------------------------------------------


def test_a_chain_that_sticks_is_not_to_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"topics": TopicPrior(2, 100), "starts": [10, 90], "iterations": 2000}
    result = run(lambda key: noise(key, 100.0), monkeypatch, **options)
    assert result.log_estimate_sd > 50
    assert result.total_variation == 1.0
    for words in ("scatter by", "hardly moves", "did not move for", "depends on where the chain starts"):
        assert sum(words in warning for warning in result.warnings) == 1


def test_chains_that_agree_have_no_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(noise, monkeypatch, topics=RANGE, starts=[1, 4], burn_in=100, iterations=4000)
    assert not result.warnings
    assert result.rhat < 1.01
    assert result.total_variation < 0.1
    assert len(result.trace) == 2 * 4100
    assert_allclose(sum(result.posterior.values()), 1.0)
    assert len(result.fresh_log_estimates) == 20


@pytest.mark.parametrize(("starts", "sd"), [([4, 6], 1.0), ([4], 1.0), ([4, 6], 9.0)])
def test_chains_may_stay_where_they_meet(starts: list[int], sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but T = 5 is out of the question. A single chain cannot know, nor can chains on rough estimates."""

    def make(key: tuple[int, int, int]) -> Made:
        return Made(noise(key, sd).log_estimate - 1000 * abs(key[1] - 5))

    result = run(make, monkeypatch, topics=TopicPrior(2, 100), starts=starts, burn_in=50, iterations=500)
    assert result.posterior == {5: 1.0}
    still = ["hardly moves" in warning or "did not move" in warning for warning in result.warnings]
    assert sum(still) == (0 if len(starts) == 2 and sd == 1.0 else 2)


def test_fresh_estimates_are_no_chains_own() -> None:
    result = in_one_go("uniform")
    assert not set(result.fresh_log_estimates) & set(result.trace["log_estimate_proposed"])


def test_scatter_is_not_told_of_one_topic_which_has_none():
    """A corpus of one document: T = 1 is the mode, and its estimates are exact; those of two topics are not."""
    one = oracle.tiny_corpus([[0] * 40 + [1] * 40], 2)
    result = pmmh(one, Prior(0.1, 0.05), topics=TopicPrior(1, 4), starts=[1], inner=2, iterations=200, seed=3)
    assert result.mode == 1
    assert result.log_estimate_sd > 0.1


def test_the_trace_tells_every_step() -> None:
    for _, trace in in_one_go("uniform").trace.groupby("chain"):
        moved = trace[trace["accepted"]]
        assert_array_equal(moved["topics"], moved["proposed"])
        assert_array_equal(moved["log_estimate"], moved["log_estimate_proposed"])
        stayed = ~trace["accepted"].to_numpy()[1:]
        for name in ("topics", "log_estimate"):  # recycled, never made anew
            assert_array_equal(trace[name].to_numpy()[1:][stayed], trace[name].to_numpy()[:-1][stayed])
        assert trace["log_estimate_proposed"].is_unique
        assert trace["topics"].between(2, 9).all()


@pytest.mark.parametrize(
    ("accepted", "longest"),
    [([0, 0, 0, 0], 4), ([1, 1, 1, 1], 1), ([0, 1, 0, 0], 3), ([0, 0, 1, 0], 2), ([1, 0, 0, 0], 4)],
)
def test_longest_stay(accepted: list[int], longest: int) -> None:
    assert module._longest_stay(np.array(accepted, bool)) == longest


# -- errors in a worker -----------------------------------------------------------------------------


class Failing(Estimates):
    def make_all(self, keys: Any) -> Any:
        raise InputError(f"bad at {keys[0][0]} topics")


class Dying(Estimates):
    def make_all(self, keys: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("estimates", "line"),
    [
        (Failing, "bad at 2 topics"),
        (Dying, r"a worker process died, perhaps because memory ran out; use fewer workers \(--workers\)"),
    ],
)
def test_an_error_in_a_worker_is_one_line(
    estimates: type, line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Inner, "estimates", lambda inner, corpus, prior, seed, _: estimates(corpus, prior, inner, seed))
    with pytest.raises(InputError, match=f"^{line}$"):
        pmmh(tiny(), PRIOR, topics=RANGE, starts=[2], iterations=5, workers=2)
    assert capfd.readouterr() == ("", "")  # the workers say nothing


# -- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"starts": [5]}, "start at 5 topics is outside the range of 1 to 4$"),
        ({"starts": [1], "topics": TopicPrior.parse("poisson:3", 2, None)}, "is outside the range from 2 on$"),
        ({"starts": []}, "0 starts"),
        ({"workers": 0}, "0 workers"),
        ({"iterations": 0}, "0 iterations"),
        ({"fresh": 1}, "1 estimates at the mode"),
        ({"inner": 0}, "at least one inner sweep"),
        ({"sampler": "gibbs"}, "unknown sampler"),
        ({"z_start": "end"}, "unknown start"),
        ({"prior": Prior((0.1, 0.2), 0.1)}, "alpha must be one number"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    options = {"corpus": tiny(), "prior": PRIOR, "topics": RANGE, "starts": [2], "iterations": 5}
    with pytest.raises(InputError, match=message):
        pmmh(**options | changes)


@pytest.mark.parametrize(
    ("text", "low", "high", "message"),
    [
        ("uniform", 1, None, "needs an upper limit"),
        ("uniform:3", 1, 5, "no parameter"),
        ("uniform", 0, 5, "start at 1 or more and hold at least two values"),
        ("uniform", 5, 5, "hold at least two values"),
        ("poisson", 1, 5, "rate"),
        ("poisson:-1", 1, 5, "rate"),
        ("poisson:many", 1, 5, "is not a number"),
        ("geometric:1", 1, 5, "between 0 and 1"),
        ("geometric:nan", 1, 5, "between 0 and 1"),
        ("normal:3", 1, 5, "unknown prior"),
    ],
)
def test_a_bad_prior_of_topics(text: str, low: int, high: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TopicPrior.parse(text, low, high)
