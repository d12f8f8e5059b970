"""What is said of estimates of the evidence and of the number of topics, by hand from made-up numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import geom, poisson
from scipy.stats import t as student

import oracle
from bayestopics.base.problems import InputError
from bayestopics.evidence import pmmh as pmmh_module
from bayestopics.evidence import reference, replica_exchange, smc
from bayestopics.evidence.compute import evidence
from bayestopics.evidence.estimate import combine, not_excluded
from bayestopics.evidence.pmmh import Walk, Wanted, log_proposal, propose
from bayestopics.evidence.pseudo_marginal import Estimates, Inner, PseudoMarginal
from bayestopics.evidence.reference import Path, Reference, estimate_backward
from bayestopics.evidence.replica_exchange import exchange
from bayestopics.evidence.smc import _resampled
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
PRIOR = Prior(0.4, 0.3)

# -- repeats -----------------------------------------------------------------------------------------


def test_repeats_are_combined_by_hand() -> None:
    """Guards against the mean of logs, n for n - 1, an error that is not one of a mean, and a late warning."""
    near = combine(np.log([1.0, 3.0, 2.0]))
    deviation = np.sqrt(np.sum((np.log([1, 3, 2]) - np.log(6) / 3) ** 2) / 2)
    assert near.log_evidence == pytest.approx(np.log(2.0))
    assert near.standard_error == pytest.approx(deviation / np.sqrt(3))
    assert near.warnings == []
    far = combine(np.array([0.0, -2.0, -4.0]))
    assert far.log_evidence == pytest.approx(np.log((1 + np.exp(-2) + np.exp(-4)) / 3))
    assert far.standard_error == pytest.approx(2.0)  # their deviation itself, beyond one nat
    assert len(far.warnings) == 2
    nothing = combine(np.array([0.0, -np.inf]))
    assert nothing.log_evidence == pytest.approx(np.log(0.5))
    assert nothing.standard_error is None


def test_margins_of_what_is_not_excluded() -> None:
    """Guards against one-sided quantiles, wrong degrees of freedom, and the error of one of the two alone."""
    errors = [0.3, 0.4, 0.3]
    margin = student.ppf(0.975, 4) * math.hypot(0.3, 0.4)  # of the second from the first, with 5 repeats
    for factor, near in ((0.99, True), (1.01, False)):
        assert not_excluded([0.0, -factor * margin, -50.0], errors, 5).tolist() == [True, near, False]
    # an error beyond one nat is that of a single repeat: two of it, or the quantile over the root of the repeats
    for repeats, times in ((3, student.ppf(0.975, 2) / math.sqrt(3)), (50, 2.0)):
        margin = times * math.hypot(2.0, 3.0)
        found = [not_excluded([0.0, -factor * margin], [2.0, 3.0], repeats)[1] for factor in (0.99, 1.01)]
        assert found == [True, False]
    assert not_excluded([0.0, -1e9], [0.1, None], 5).tolist() == [True, True]


def test_repeats_have_random_numbers_of_their_own() -> None:
    """Guards against independent repeats that are one estimate several times."""
    corpus = oracle.random_corpus(np.random.default_rng(1), 40, 6, 8)
    found = evidence(corpus, [2, 3], PRIOR, method="pseudo-marginal", sweeps=2, repeats=3)
    assert len({value for values in found["log_estimates"] for value in values}) == 6


def test_an_estimate_of_its_first_sweeps_is_their_mean() -> None:
    """Guards against a sum that is divided by another number of sweeps."""
    found = PseudoMarginal(0.0, np.log([1.0, 5.0, 3.0, 7.0]), np.zeros(1, np.int32))
    assert_allclose(np.exp([found.after(inner) for inner in (1, 2, 3, 4)]), [1.0, 3.0, 3.0, 4.0])


# -- paths -------------------------------------------------------------------------------------------


def test_the_truth_takes_the_names_that_the_reference_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against names the wrong way round: with two topics either way is the same, with three it is not."""
    corpus = oracle.tiny_corpus([[0, 1, 2]], 3)
    liked = np.log(np.full((3, 3), 0.05) + 0.85 * np.eye(3)).astype(np.float32)  # token i likes topic i
    ours = Reference(np.arange(3, dtype=np.int32), liked, np.zeros(3), True)
    started: list[np.ndarray] = []

    def backward(path: Path, ladder: np.ndarray, rng: np.random.Generator) -> float:
        started.append(path.state.assignments.copy())
        return 0.0

    monkeypatch.setattr(reference, "find_topics", lambda *_: None)
    monkeypatch.setattr(reference, "prepare", lambda *_: (ours, np.array([0.0, 1.0]), 0.0))
    monkeypatch.setattr(reference, "anneal_backward", backward)
    for truth in ([1, 2, 0], [2, 0, 1], [0, 2, 1]):
        estimate_backward(corpus, 3, PRIOR, np.array(truth), 5, np.random.default_rng(1))
        assert started.pop().tolist() == [0, 1, 2]


def test_resampled_particles_go_their_own_ways() -> None:
    """Guards against copies that share their state: a sweep of one would move the other."""
    rng = np.random.default_rng(2)
    cloud = [Tempered(draw_prior(CORPUS, 2, PRIOR, rng)) for _ in range(4)]
    following = _resampled(cloud, np.array([0.0, 0.75, 0.25, 0.0]), rng)
    assert [np.array_equal(one.state.assignments, cloud[1].state.assignments) for one in following[:3]] == [True] * 3
    assert len({id(one.state.assignments) for one in following}) == 4
    assert following[3] is cloud[2]


def test_replicas_that_always_swap_are_counted_by_hand() -> None:
    """Guards against trips that count twice and a burn-in that is kept. With one topic every swap is accepted: the two
    replicas change places in rounds 0, 2, 4 and 6, and in all but the first one is back from the top."""
    found = exchange(CORPUS, 1, PRIOR, np.array([0.0, 1.0]), 8, np.random.default_rng(3), burn_in=0.25)
    assert found.round_trips == 3
    assert found.swap_rates.tolist() == [1.0]
    assert found.log_likelihood.shape == (6, 2)


class Still:
    """In the place of `Tempered`: one number, its log p(w | z), that no sweep changes."""

    def __init__(self, state: Any) -> None:
        self.state, self.log_likelihood = state, state[0]

    def sweep(self, b: float, rng: Any) -> None: ...


def test_particles_that_are_resampled_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against weights that count twice, which a tiny corpus does not show, as it hardly ever resamples: here the
    last of four particles has all the weight after the first step, and stands four times in the second."""
    logs = np.array([0.0, 1.0, 2.0, 40.0])
    values = iter(logs.tolist())
    monkeypatch.setattr(smc, "Tempered", Still)
    monkeypatch.setattr(smc, "draw_prior", lambda *_: [next(values)])
    found = smc.smc(CORPUS, 2, PRIOR, np.array([0.0, 0.5, 1.0]), 4, np.random.default_rng(4))
    assert found == pytest.approx(np.log(np.mean(np.exp(0.5 * logs))) + 0.5 * 40.0)
    logs[3] = 1.5  # weights that are nearly equal are kept, and multiply
    values = iter(logs.tolist())
    found = smc.smc(CORPUS, 2, PRIOR, np.array([0.0, 0.5, 1.0]), 4, np.random.default_rng(4))
    assert found == pytest.approx(np.log(np.mean(np.exp(logs))))


@pytest.mark.parametrize(("uniform", "rate"), [(0.367, 1.0), (0.369, 0.0)])
def test_a_swap_has_its_ratio(uniform: float, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against the inverse ratio, which short chains on a tiny corpus do not notice: a draw of the prior that is
    less likely by 2 nats than its neighbour at b = 1/2 is swapped with probability exp(-1) = 0.368."""
    values = iter([0.0, -2.0])  # log p(w | z) of the start, and of the first round's draw of the prior
    monkeypatch.setattr(replica_exchange, "Tempered", Still)
    monkeypatch.setattr(replica_exchange, "draw_prior", lambda *_: [next(values)])
    rng: Any = SimpleNamespace(random=lambda: uniform)
    found = exchange(CORPUS, 2, PRIOR, np.array([0.0, 0.5, 1.0]), 1, rng, burn_in=0.0)
    assert found.swap_rates.tolist() == [rate, 0.0]
    assert found.log_likelihood.tolist() == [[-2.0, 0.0, 0.0]]


# -- the number of topics ----------------------------------------------------------------------------


def test_the_ends_of_the_range_belong_to_it() -> None:
    """Guards against bounds that are off by one, and densities that are shifted."""
    prior = TopicPrior(2, 5)
    assert [topics in prior for topics in range(1, 7)] == [False, True, True, True, True, False]
    assert 10**6 in TopicPrior(2, None, "geometric", 0.3)
    for kind, parameter, law in (("poisson", 3.5, poisson(3.5)), ("geometric", 0.3, geom(0.3))):
        prior = TopicPrior(1, None, kind, parameter)
        found = np.array([prior.log_density(topics) for topics in range(1, 9)])
        assert_allclose(np.diff(found), np.diff(law.logpmf(np.arange(1, 9))), rtol=1e-9)
    assert TopicPrior(1, 9).log_density(3) == TopicPrior(1, 9).log_density(9)


def test_proposals_and_their_probabilities() -> None:
    """Guards against a walk that leaves its range, and a correction that does not fit the proposals."""
    prior = TopicPrior(2, 5)
    assert [propose(prior, topics, 0.49) for topics in (2, 3, 4, 5)] == [3, 4, 5, 4]
    assert [propose(prior, topics, 0.5) for topics in (2, 3, 4, 5)] == [3, 2, 3, 4]
    assert [math.exp(log_proposal(prior, topics)) for topics in (2, 3, 4, 5)] == pytest.approx([1, 0.5, 0.5, 1])
    # further away: 1, 1/4 and 1/9 for distances 1, 2 and 3, the largest T first
    assert [propose(prior, 3, uniform, reach=3) for uniform in (0.1, 0.12, 0.55, 0.56, 0.999)] == [5, 4, 4, 2, 2]
    assert [propose(prior, 2, uniform, reach=3) for uniform in (0.08, 0.09, 0.26, 0.27)] == [5, 4, 4, 3]
    assert propose(TopicPrior(2, None, "geometric", 0.5), 2, 0.0, reach=3) == 5
    assert math.exp(-log_proposal(prior, 2, reach=3)) == pytest.approx(1 + 1 / 4 + 1 / 9)
    assert math.exp(-log_proposal(prior, 3, reach=3)) == pytest.approx(2 + 1 / 4)
    with pytest.raises(InputError, match="reach of proposals"):
        Walk(prior, (2,), reach=0)


def test_the_summary_of_pmmh_is_about_what_follows_the_burn_in() -> None:
    """Guards against steps of the burn-in that count, and one that is missing; all by hand from a trace."""
    topics = [9, 9, 3, 3, 4, 4, 3, 3, 7, 7, 2, 3, 3, 3, 4, 2]
    accepted = [True, False, True, False, True, False, True, False, True, False, True, True, False, False, True, True]
    steps = np.tile(np.arange(8), 2)
    trace = pd.DataFrame({"chain": np.repeat([0, 1], 8), "step": steps, "topics": topics, "accepted": accepted})
    found = pmmh_module._summary(trace, 2, np.array([1.0, 2.0, 6.0]), None, {})
    assert found.posterior == pytest.approx({2: 2 / 12, 3: 7 / 12, 4: 3 / 12})
    assert found.mode == 3
    assert found.acceptance_rate == pytest.approx((3 + 4) / 12)
    assert found.longest_stay == 3
    assert found.log_estimate_sd == pytest.approx(np.sqrt(7.0))
    assert found.total_variation == pytest.approx(1 / 3)  # 4/6 and 2/6 of 3 and 4; 2/6, 3/6 and 1/6 of 2, 3 and 4
    assert len(found.trace) == 16


def test_chains_over_topics_have_random_numbers_of_their_own() -> None:
    """Guards against chains that share proposals or estimates: they would agree, and R-hat would say so."""
    walk = Walk(TopicPrior(2, 9), (5, 5), iterations=4)
    chains = [pmmh_module._new_chain(number, walk, seed) for seed in (0, 1) for number in (0, 1)]
    assert len({tuple(chain.uniforms.ravel()) for chain in chains}) == 4
    corpus = oracle.random_corpus(np.random.default_rng(1), 40, 6, 8)
    wanted = Wanted(Estimates(corpus, PRIOR, Inner(1), 0), False)
    keys = [(chain, 3, number) for chain in (0, 1, pmmh_module.FRESH_STREAM) for number in (0, 1)]
    assert len({made.log_estimate for made in pmmh_module._make(wanted, keys)}) == 6
