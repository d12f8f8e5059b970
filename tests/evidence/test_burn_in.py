"""The burn-in of a chain over (T, z): other topics are tried, and the chain goes on from the best ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from kept_states import KeptStates
from numpy.testing import assert_array_equal

from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import Simulated, simulate_lda
from bayestopics.evidence import burn_in, jump, weeding
from bayestopics.evidence.burn_in import Best, Schedule
from bayestopics.evidence.jump import Chain, Sampler, run_chain
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior

PRIOR = Prior(0.1, 0.3)


def simulated(documents: int = 60, length: int = 100) -> Simulated:
    return simulate_lda(
        documents=documents, length=length, terms=60, topics=4, alpha=0.1, eta=0.3, rng=np.random.default_rng(2)
    )


def sampler_at(corpus: Corpus, z: np.ndarray, topic_prior: TopicPrior, empty: int = 0) -> Sampler:
    topics = int(z.max()) + 1 + empty
    chain = Chain(0, topics, np.random.default_rng(0), z.astype(np.int32), topics, topics - 1, {}, {}, np.empty(0))
    return Sampler(corpus, PRIOR, topic_prior, chain)


def check(sampler: Sampler) -> None:
    chain = sampler.chain
    assert chain.soft < chain.topics
    assert chain.topics in sampler.topic_prior
    assert chain.assignments.min() >= 0
    assert_array_equal(sampler.sizes, np.bincount(chain.assignments, minlength=chain.topics))


@pytest.mark.parametrize(("high", "topics"), [(20, 8), (5, 5), (4, 4)])
def test_topics_are_halved_as_far_as_the_prior_allows(high: int, topics: int) -> None:
    one = simulated()
    before = one.truth["assignments"]
    empty = min(high - 4, 6)  # with more empty topics than topics in use, T becomes smaller
    sampler = sampler_at(one.corpus, before.copy(), TopicPrior(1, high), empty)
    burn_in.halve(sampler, 1.0)
    check(sampler)
    after = sampler.chain.assignments
    assert np.sum(sampler.sizes > 0) == topics
    for new in range(4, topics):
        (old,) = np.unique(before[after == new])
        assert 0.4 < np.mean(after[before == old] == new) < 0.6


@pytest.mark.parametrize(("share", "topics"), [(0.0, 4), (0.1, 5), (0.25, 5), (0.4, 6)])
def test_a_share_of_the_topics_is_halved(share: float, topics: int) -> None:
    one = simulated()
    sampler = sampler_at(one.corpus, one.truth["assignments"].copy(), TopicPrior(1, 20))
    burn_in.halve(sampler, share)
    assert np.sum(sampler.sizes > 0) == topics


def test_like_topics_are_halved_together() -> None:
    """Of five topics two are the halves of one. If they are halved together more often than others, half of the
    time is spent on neighbours."""
    one = simulated()
    z, rng = one.truth["assignments"], np.random.default_rng(1)
    z = np.where((z == 0) & (rng.random(len(z)) < 0.5), 4, z)
    pairs = []
    for seed in range(200):
        sampler = sampler_at(one.corpus, z.copy(), TopicPrior(1, 20))
        sampler.chain.rng = np.random.default_rng(seed)
        burn_in.halve(sampler, 0.4)
        pairs.append(tuple(np.unique(z[sampler.chain.assignments >= 5])))
    assert len(set(pairs)) == 10
    # 1 of 10 if the pair is drawn at random, and 2 of 5 if it is one topic and the one that is most like it
    assert 0.25 - 0.1 < pairs.count((0, 4)) / 200 < 0.25 + 0.1


@pytest.mark.parametrize(("low", "share", "topics"), [(1, 0.1, 3), (1, 0.5, 2), (1, 1.0, 1), (3, 0.5, 3), (4, 0.5, 4)])
def test_topics_are_dissolved_as_far_as_the_prior_allows(low: int, share: float, topics: int) -> None:
    one = simulated()
    before = one.truth["assignments"]
    for seed in range(5):
        sampler = sampler_at(one.corpus, before.copy(), TopicPrior(low, 20), 2)
        sampler.chain.rng = np.random.default_rng(seed)
        burn_in.dissolve(sampler, share)
        check(sampler)
        after = sampler.chain.assignments
        assert np.sum(sampler.sizes > 0) == topics
        stayed = 0  # topics that nothing was taken from
        for old in range(4):
            stayed += len(np.unique(after[before == old])) == 1
        assert stayed >= topics


def test_the_smallest_topics_are_dissolved_more_often() -> None:
    one = simulated()
    z, rng = one.truth["assignments"], np.random.default_rng(1)
    z = np.where(rng.random(len(z)) < 0.02, 4, z)
    gone = 0
    for seed in range(100):
        sampler = sampler_at(one.corpus, z.copy(), TopicPrior(1, 20))
        sampler.chain.rng = np.random.default_rng(seed)
        burn_in.dissolve(sampler, 0.1)
        gone += len(np.unique(sampler.chain.assignments[z == 4])) > 1
    assert 0.5 < gone / 100 < 0.7  # always in one half, and in a fifth of the other


@pytest.mark.parametrize("low", [1, 6])
def test_the_rating_is_the_mass_around_the_topics(low: int) -> None:
    """If two topics are mixed up, there is less mass. Empty topics do not count, unless the prior asks for them; then
    the rating may use them to part the two again."""
    one, ratings = simulated(), {}
    z = one.truth["assignments"]
    for name, topics in (("true", z), ("merged", np.minimum(z, 2)), ("empty", z)):
        sampler = sampler_at(one.corpus, topics, TopicPrior(low, 20, "poisson", 4.0), 2 * (name == "empty"))
        ratings[name] = burn_in.rate(sampler)
        assert sampler.chain.topics == max(low, len(np.unique(topics)))
    assert low > 1 or ratings["true"] > ratings["merged"] + 100
    assert ratings["true"] == pytest.approx(ratings["empty"], abs=1e-6)


def test_the_rating_has_the_prior_of_t() -> None:
    one = simulated()
    z = one.truth["assignments"]
    flat, poisson = (
        burn_in.rate(sampler_at(one.corpus, z, prior))
        for prior in (TopicPrior(1, 20), TopicPrior(1, 20, "poisson", 1.0))
    )
    want = TopicPrior(1, 20, "poisson", 1.0).log_density(4) - TopicPrior(1, 20).log_density(4)
    assert poisson - flat == pytest.approx(want)


@pytest.mark.parametrize(
    ("burn", "tokens", "searches", "trials", "settling", "trial", "last"),
    [
        (20_000, 50_000, True, 5000, 15_000, 500, 15_000),
        (20_000, 200_000, True, 5000, 10_000, 500, 10_000),  # with a part of the documents
        (20_000, 5_000, False, 5000, 10_000, 500, 10_000),
        (1200, 50_000, True, 300, 900, 100, 900),
        (100_000, 50_000, True, 5000, 95_000, 500, 95_000),  # a long burn-in has more trials, not longer ends
        (10, 50_000, True, 3, 7, 1, 7),
        (2, 50_000, True, 1, 1, 1, 1),
        (0, 50_000, True, 0, 0, 1, 0),
    ],
)
def test_the_parts_of_the_burn_in(
    burn: int, tokens: int, searches: bool, trials: int, settling: int, trial: int, last: int
) -> None:
    corpus = Corpus(np.zeros(tokens, np.int32), np.zeros(tokens, np.int32), 1, ["a"])
    sampler = sampler_at(corpus, np.zeros(tokens, np.int32), TopicPrior(1, 9))
    sampler.chain.searches = searches
    sampler.sweeps = 1
    schedule = Schedule(corpus, sampler, burn)
    assert (schedule.trials, schedule.settling) == (trials, settling)
    assert (schedule.trial, schedule.last) == (trial, last)
    sampler.sweeps = 5
    assert Schedule(corpus, sampler, burn).trial == min(100, trial)


class Watched(Sampler):
    """Notes what each iteration finds."""

    def iterate(self, learning: bool, pushed: bool = False) -> None:  # type: ignore[override]
        done = self.chain.done
        if done not in NOTED:
            NOTED[done] = (self.b, self.hyper is None, self.chain.assignments.copy())
        super().iterate(learning, pushed)


NOTED: dict[int, tuple[float, bool, np.ndarray]] = {}


@pytest.mark.parametrize("start", [1, 12])
@pytest.mark.parametrize(
    ("ratings", "shares", "best"),
    [
        ([5, 4, 3, 2, 1, 0, -1], [1.0] + [None] * 5, 0),  # the topics before all trials
        ([1, 2, 3, 2, 1, 1, 2], [1.0, 1.0, 1.0, None, None, None], 2),
        ([1, 2, 3, 4, 5, 6, 7], [1.0] * 6, 6),
        ([1, 0, 3, 4, 2, 2, 2], [1.0] + [None] * 5, 3),
    ],
)
def test_the_chain_goes_on_from_the_best_topics(
    start: int, ratings: list[float], shares: list[float | None], best: int
) -> None:
    """A chain that was killed in between goes on the same. On small corpora nothing is tried."""
    corpus = simulated(80, 150).corpus
    walk, kept = Walk(TopicPrior(1, 20), (start,), 5, 120), KeptStates()
    seen: list[tuple[str, int]] = []
    halved: list[float] = []
    at_the_end: list[np.ndarray] = []
    rated: dict[int, np.ndarray] = {}

    def noted(name: str) -> Callable[..., Any]:
        real = getattr(burn_in, name)

        def note(sampler: Sampler, *rest: Any) -> Any:
            seen.append((name, sampler.chain.done))
            if name in ("halve", "dissolve") and len(halved) < len(shares):
                halved.append(rest[0])
            if len(seen) == 7:  # the trials are over
                at_the_end.append(sampler.chain.assignments.copy())
            return real(sampler, *rest)

        return note

    def rate(sampler: Sampler) -> float:
        sampler.empty_last()
        done, z = sampler.chain.done, sampler.chain.assignments
        if done not in rated:
            rated[done] = z.copy()
        (of,) = (of for of, other in rated.items() if np.array_equal(z, other))
        return 100.0 * ratings[(of - 30) // 10]

    NOTED.clear()
    names = {name: noted(name) for name in ("halve", "dissolve", "weed")}
    with (
        patch.multiple(burn_in, rate=rate, merge_down=lambda _: None, **names),
        patch.object(jump, "Sampler", Watched),
        patch.object(weeding, "STEPS", (20,)),
        patch.object(jump, "EVERY", 2),
    ):
        whole = run_chain(corpus, PRIOR, walk, 0, 0, kept, hyper=(0.01, 10.0))
        assert [done for name, done in seen if name != "weed"] == [30, 40, 50, 60, 70, 80]
        assert [done for name, done in seen if name == "weed"] == [90, 98, 106, 114]
        for have, want in zip(halved, shares, strict=True):
            assert have == want if want else have in np.abs(burn_in.SHARES)
        assert_array_equal(np.unique(rated[30 + 10 * best]), np.arange(len(np.unique(rated[30 + 10 * best]))))
        assert_array_equal(at_the_end[0], rated[30 + 10 * best])
        powers = np.array([NOTED[done][0] for done in range(125)])
        np.testing.assert_allclose(powers[:30], 1.0 if start == 1 else np.linspace(burn_in.WARMEST, 1.0, 31)[:-1])
        for number, share in enumerate(shares):
            trial = powers[30 + 10 * number :][:10]
            np.testing.assert_allclose(trial, np.minimum(trial[0] + (1 - trial[0]) * np.arange(10) / 8, 1.0))
            assert trial[0] == burn_in.WARMEST if share else burn_in.WARM[0] < trial[0] < burn_in.WARM[1]
        assert powers[90:].tolist() == [1.0] * 35
        fixed = np.array([NOTED[done][1] for done in range(125)])
        assert fixed[:30].all()
        assert_array_equal(fixed[30:], powers[30:] < 1.0)
        for number in (29, 33, 45, 74, 100):
            kept.number = number
            again = run_chain(corpus, PRIOR, walk, 0, 0, kept, hyper=(0.01, 10.0))
            assert_array_equal(again.trace, whole.trace)
        seen.clear()
        with patch.multiple(jump, SMALL=corpus.token_count, DEAR=np.inf):
            run_chain(corpus, PRIOR, walk, 0, 0, NoCheckpoint())
        assert not seen


@pytest.mark.parametrize(
    ("ratings", "better", "left"),
    [
        ([-25.0, 99.0, 99.0, 99.0], False, 3),  # too far below the best ones to look again
        ([-15.0, 9.0, 12.0, -18.0], True, 0),  # the first rating was bad luck
        ([40.0, 9.0, 12.0, -30.0], False, 0),  # and here it was good luck: the other three count
    ],
)
def test_topics_are_better_if_several_ratings_are(ratings: list[float], better: bool, left: int) -> None:
    one = simulated()
    found, best = one.truth["assignments"].astype(np.int32), np.zeros(one.corpus.token_count, np.int32)
    sampler = sampler_at(one.corpus, found, TopicPrior(1, 9))
    state = Best(best, 0.0, burn_in._log_joint(sampler, best))

    def rate(sampler: Sampler) -> float:
        if np.array_equal(sampler.chain.assignments, best):
            return 0.0
        assert_array_equal(sampler.chain.assignments, found)
        return ratings.pop(0)

    with patch.object(burn_in, "rate", rate):
        burn_in._compare(sampler, state)
    assert len(ratings) == left
    assert (state.rating, state.doubling) == ((1.0, True) if better else (0.0, False))
    assert_array_equal(state.assignments, found if better else best)


def test_topics_are_merged_down_to_the_best_number() -> None:
    """From halves of the true topics the chain comes back to them; the prior may not allow so few."""
    one = simulated()
    z = one.truth["assignments"].astype(np.int32)
    true = len(np.unique(z))
    rng = np.random.default_rng(0)
    for low in (1, true + 1):
        sampler = sampler_at(one.corpus, z + true * rng.integers(2, size=len(z), dtype=np.int32), TopicPrior(low, 20))
        burn_in.merge_down(sampler)
        assert sampler.empty_last() in range(max(low, true), max(low, true) + 2)
        check(sampler)


@pytest.mark.parametrize("better", [True, False])
def test_after_the_last_trial_the_chain_has_the_best_topics(better: bool) -> None:
    one = simulated()
    best, found = np.zeros(one.corpus.token_count, np.int32), one.truth["assignments"].astype(np.int32)
    sampler = sampler_at(one.corpus, found, TopicPrior(1, 9))
    sampler.chain.searches, sampler.chain.best = True, Best(best, 0.0, burn_in._log_joint(sampler, best))
    schedule = Schedule(one.corpus, sampler, 100)
    sampler.chain.done = schedule.last
    with patch.object(burn_in, "rate", lambda _: 100.0 if better else -100.0):
        burn_in.next_trial(sampler, schedule)
    assert sampler.chain.best is None
    assert_array_equal(sampler.chain.assignments, found if better else best)
    check(sampler)


def test_the_rating_of_the_best_topics_follows_alpha_and_eta_and_is_renewed() -> None:
    """Guards a rating at other alpha and eta, under which these topics were more probable, and one that was luck."""
    one = simulated()
    z = one.truth["assignments"].astype(np.int32)
    sampler, worse = sampler_at(one.corpus, z, TopicPrior(1, 9)), np.minimum(z, 2)
    sampler.chain.hyper = (sampler.alpha, sampler.eta)
    now = burn_in._log_joint(sampler, worse)
    with patch.object(burn_in, "rate", lambda _: -300.0):
        state = Best(worse, -200.0, now)
        burn_in._compare(sampler, state)
        assert (state.rating, state.log_joint, state.times) == (-225.0, now, 4)  # three of -200 and one of -300
        burn_in._put(sampler, z)
        state = Best(worse, -200.0, now + 500.0)
        burn_in._compare(sampler, state)
    assert (state.rating, state.log_joint, state.times) == (-300.0, burn_in._log_joint(sampler, z), 3)
    assert_array_equal(state.assignments, z)


def test_without_a_burn_in_nothing_is_tried() -> None:
    """The chain that is used must keep its law."""
    never = dict.fromkeys(("rate", "weed", "halve", "dissolve"), lambda *_: pytest.fail("tried"))
    with patch.multiple(burn_in, **never):
        run_chain(simulated(80, 150).corpus, PRIOR, Walk(TopicPrior(1, 20), (3,), 5, 0), 0, 0, NoCheckpoint())


@pytest.mark.parametrize("doubled", [True, False])
def test_a_chain_from_one_topic_finds_them_all(doubled: bool) -> None:
    """If no topics are doubled at the beginning, it is too slow for that. A topic with a few words may come and go."""
    corpus = simulate_lda(
        documents=150, length=100, terms=100, topics=8, alpha=0.1, eta=0.2, rng=np.random.default_rng(7)
    ).corpus
    walk = Walk(TopicPrior(1, 40), (1,), 20, 800)
    with patch.object(burn_in, "halve", burn_in.halve if doubled else lambda *_: None):
        chain = run_chain(corpus, Prior(0.1, 0.2), walk, 0, 0, NoCheckpoint())
    assert (np.sum(np.bincount(chain.assignments) > corpus.token_count / 100) == 8) == doubled
