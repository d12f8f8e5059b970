"""What is reported of a search for h, against formulas on made-up chains: every number, not only its law."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp
from scipy.stats import t as student

import oracle
from bayestopics.hyper import compute, search, several
from bayestopics.hyper.bands import band, independent, paper_band
from bayestopics.hyper.best import FEWEST_BATCHES, Best, Ellipse, at_ends, best, maximise
from bayestopics.hyper.compute import hyper, posterior_region
from bayestopics.hyper.estimates import Terms, surface
from bayestopics.hyper.full_bayes import FullBayes
from bayestopics.hyper.gibbs_em import Histograms, _Chain
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.search import doubts, place
from bayestopics.hyper.several import agreement, search_several
from bayestopics.hyper.sides import DirichletSide
from bayestopics.hyper.tempering import TemperedChain, _round_trips, gain, temper
from bayestopics.hyper.variational_em import _converged
from bayestopics.lda.state import Prior, random_start
from dying import Dying, resumed

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], [2, 2]], 3)
DOCUMENTS, TOPICS, TERMS = 30, 3, 6
GRID = Grid.spanning((0.5, 2.0), (0.5, 2.0), (3, 3))
NARROW = Grid.spanning((0.95, 1.05), (0.95, 1.05), (3, 3))


def made_up(
    sums: np.ndarray, index: Any = None, log_zeta: Any = None, functional: Any = None, grid: Grid = GRID
) -> TemperedChain:
    """A chain of psi on the grid, with these sums of log theta and log beta (two columns)."""
    n = len(sums)
    return TemperedChain(
        grid,
        DirichletSide(DOCUMENTS, TOPICS),
        DirichletSide(TOPICS, TERMS),
        np.zeros(len(grid)) if log_zeta is None else np.array(log_zeta, float),
        np.zeros(n, np.int64) if index is None else np.array(index),
        sums[:, :1],
        sums[:, 1:],
        np.empty((n, 0)) if functional is None else functional[:, None],
        None,
        grid.ends,
    )


def log_density(sums: np.ndarray, alpha: float, eta: float) -> np.ndarray:
    """log nu_h of each row, from the density of a Dirichlet distribution."""
    of_theta = DOCUMENTS * (gammaln(TOPICS * alpha) - TOPICS * gammaln(alpha)) + (alpha - 1) * sums[:, 0]
    return of_theta + TOPICS * (gammaln(TERMS * eta) - TERMS * gammaln(eta)) + (eta - 1) * sums[:, 1]


def random_sums(n: int, noise: float = 2.0, seed: int = 1) -> np.ndarray:
    """Around those of h near (1, 1): DOCUMENTS x TOPICS and TOPICS x TERMS logs of parts."""
    return np.array([-134.0, -42.0]) + noise * np.random.default_rng(seed).standard_normal((n, 2))


# -- where a chain has been --------------------------------------------------------------------------


def test_round_trips_are_there_and_back() -> None:
    """Guards against one way that counts as a round trip, and against the side that has more of them."""
    assert _round_trips(np.array([0, 2, 1, 0, 2, 2, 0, 1, 2]), 0, 2) == 2
    assert _round_trips(np.array([1, 1, 1]), 1, 1) == 0
    # point j has alpha number j // 3 and eta number j % 3: alpha goes there and back twice, eta three times
    chain = made_up(np.tile([-134.0, -42.0], (7, 1)), index=[0, 8, 0, 2, 0, 8, 0], grid=NARROW)
    assert chain.matters.all()
    assert chain.round_trips == 2
    assert chain.moved == 1.0


def test_occupancy_is_a_share_of_the_sweeps() -> None:
    """Guards against another divisor, and points that are left out because nobody was there."""
    chain = made_up(random_sums(4), index=[0, 0, 7, 3])
    assert chain.occupancy.tolist() == [0.5, 0, 0, 0.25, 0, 0, 0, 0.25, 0]
    assert chain.moved == pytest.approx(2 / 3)


def test_uniformity_is_the_smallest_share_over_the_mean() -> None:
    """Guards against the largest share in the place of the mean, and points that do not matter."""
    sums, log_zeta = np.tile([-134.0, -42.0], (5, 1)), np.linspace(-1, 1, 9)
    grid = Grid.spanning((0.75, 1.6), (0.75, 1.6), (3, 3))
    logs = np.array([log_density(sums[:1], *h)[0] for h in grid.points])
    matters = logs > logs.max() - 5
    shares = np.exp(logs - log_zeta - logsumexp(logs - log_zeta))[matters]
    assert 2 < matters.sum() < 9
    assert made_up(sums, log_zeta=log_zeta, grid=grid).uniformity == pytest.approx(shares.min() / shares.mean())


def test_the_gain_falls_slowly_and_then_as_one_over_t() -> None:
    """Guards against a gain that falls too fast in the first half [Tan 2017: t^-0.8]."""
    found = [gain(sweep, 100, 9) for sweep in (1, 20, 50, 51, 100)]
    slow = 50**0.8
    assert found == pytest.approx([1 / 9, 20**-0.8, 1 / slow, 1 / (slow + 1), 1 / (slow + 50)])


def test_one_sweep_adds_to_zeta_the_probabilities_of_the_points() -> None:
    """Guards against the wrong sign: zeta must rise where the chain is, so that it goes elsewhere."""
    grid = Grid((0.2, 2.0), (0.1, 1.0, 3.0))
    chain = temper(CORPUS, 2, grid, sweeps=1, rng=np.random.default_rng(3), adapt=np.inf)
    z = chain.last.assignments[None]
    logs = np.array([oracle.log_joint(CORPUS, z, 2, Prior(*h))[0] for h in grid.points.tolist()])
    assert_allclose(chain.log_zeta, np.exp(logs - logsumexp(logs)), rtol=1e-9)  # a gain of 1 / 6, of 6 points


def test_a_chain_that_adapts_goes_on_with_its_zeta() -> None:
    """Guards against a checkpoint that forgets zeta or the generator: killed anywhere, the same bits."""

    def run(checkpoint: Dying | None) -> TemperedChain:
        return temper(CORPUS, 2, GRID, sweeps=12, rng=np.random.default_rng(6), adapt=3.0, checkpoint=checkpoint)

    whole = run(None)
    for again in resumed(run, at=(0.1, 0.5, 0.8)):
        assert again.log_zeta.tolist() == whole.log_zeta.tolist()
        assert again.index.tolist() == whole.index.tolist()
        assert again.of_eta.tolist() == whole.of_eta.tolist()


# -- estimates ---------------------------------------------------------------------------------------


def test_what_an_estimate_divides_by() -> None:
    """Guards against zeta on the wrong side: the mixture of all points, or the point of the chain (2.10, 2.17)."""
    sums, log_zeta, index = random_sums(6), np.linspace(-1, 1, 9), [0, 5, 7, 2, 8, 5]
    chain = made_up(sums, index=index, log_zeta=log_zeta)
    logs = np.array([log_density(sums, *h) for h in GRID.points]).T - log_zeta
    assert_allclose(Terms.of(chain, "hat").log_denominator, logsumexp(logs, axis=1) - np.log(9), rtol=1e-9)
    assert_allclose(Terms.of(chain, "tilde").log_denominator, logs[np.arange(6), index], rtol=1e-9)


def test_batches_leave_out_the_first_sweeps() -> None:
    terms = Terms.of(made_up(random_sums(23)))
    assert terms.batches(4) == [slice(3, 8), slice(8, 13), slice(13, 18), slice(18, 23)]
    assert len(terms.batches()) == 4


def test_the_error_of_a_surface_is_relative() -> None:
    """Guards against an error of M itself, which changes with the constant that M is known up to."""
    sums, log_zeta = random_sums(103), np.linspace(0, 1, 9)
    chain = made_up(sums, log_zeta=log_zeta)
    alphas, etas = np.array([0.7, 1.5]), np.array([0.6, 1.1, 1.9])
    mixture = logsumexp([log_density(sums, *h) - zeta for h, zeta in zip(GRID.points, log_zeta, strict=True)], axis=0)
    values, errors = np.empty((2, 3)), np.empty((2, 3))
    for i, alpha in enumerate(alphas):
        for j, eta in enumerate(etas):
            weights = np.exp(log_density(sums, alpha, eta) - mixture)
            values[i, j] = np.log(weights.mean())
            means = np.array([weights[3 + 10 * k : 13 + 10 * k].mean() for k in range(10)])
            scatter = 10 * np.sum((means - means.mean()) ** 2) / 9
            errors[i, j] = np.sqrt(scatter / 103) / weights.mean()
    found = surface(chain, alphas, etas)
    assert_allclose(found[0], values - values.max(), atol=1e-9)
    assert_allclose(found[1], errors, rtol=1e-8)


def test_the_papers_band_is_the_quantile_of_the_batches_furthest_distances() -> None:
    """Guards against a quantile one too high, and against the distance of a batch for that of the chain."""
    sums, functional = random_sums(105), np.random.default_rng(2).random(105)
    points = np.array([[0.7, 0.8], [1.4, 1.1], [1.0, 1.9]])
    mixture = logsumexp([log_density(sums, *h) for h in GRID.points], axis=0)
    whole, away = [], np.zeros(10)
    for h in points:
        weights = np.exp(log_density(sums, *h) - mixture)
        whole.append(np.average(functional, weights=weights))
        for k in range(10):
            part = slice(5 + 10 * k, 15 + 10 * k)
            away[k] = max(away[k], abs(np.average(functional[part], weights=weights[part]) - whole[-1]))
    half = sorted(away)[7] * np.sqrt(10 / 105)  # the eighth of ten at a level of 0.8
    found = paper_band(made_up(sums, functional=functional), points, level=0.8)
    assert_allclose(found.middle, whole, rtol=1e-9)
    assert_allclose(found.upper - found.middle, half, rtol=1e-7)
    assert_allclose(found.middle - found.lower, half, rtol=1e-7)


def test_a_band_of_chains_by_hand() -> None:
    """At one h it is a t interval. Guards against chains that are averaged rather than joined, a batch that crosses
    the end of a chain, and an error of the mean that ignores the weights."""
    sums = [random_sums(83, seed=seed) for seed in range(8)]
    values = [np.random.default_rng([3, seed]).random(83) for seed in range(8)]
    made = [made_up(one, functional=value) for one, value in zip(sums, values, strict=True)]
    h = np.array([[1.4, 1.1]])
    logs = np.array(
        [log_density(one, *h[0]) - logsumexp([log_density(one, *p) for p in GRID.points], 0) for one in sums]
    )
    weights = np.exp(logs)
    middle = (weights * values).sum() / weights.sum()
    away = (weights * (values - middle))[:, 3:].reshape(32, 20).mean(axis=1) / weights.mean()
    found = band(made, h)
    assert found.units == 32
    assert_allclose(found.middle, middle, rtol=1e-9)
    half = student.ppf(0.975, 31) * away.std(ddof=1) / np.sqrt(32)
    assert_allclose([found.upper - middle, middle - found.lower], half, rtol=0.03)  # 4,000 draws know it to 1 %
    still = [made_up(one, functional=np.zeros(83)) for one in sums]
    assert np.isnan(band(still, h).lower).all()  # it says nothing about its own error
    with pytest.raises(ValueError, match="same grid, zeta and length"):
        band([made[0], made_up(sums[1][:80], functional=values[1][:80])], h)


def test_units_of_a_band() -> None:
    """Guards against correlated batches that are not joined, and chains that disagree but count as 32 batches."""
    rng = np.random.default_rng(4)
    free = rng.standard_normal((8, 4, 3))
    assert independent(free)[0].shape == (32, 3)
    pairs = np.repeat(rng.standard_normal((8, 2, 1)), 2, axis=1) + 0.1 * free
    assert independent(pairs)[0].shape == (16, 3)
    # successive batches go up and down, so their correlation is small, and yet the chains differ
    apart = 1.25 * np.array([1, -1] * 4)[:, None, None] + np.array([1, -1, 1, -1])[:, None] + 0.01 * free
    units, correlation = independent(apart)
    assert_allclose(units, apart.mean(axis=1))
    assert correlation < 0.25
    slow = rng.standard_normal((1, 32, 1)).cumsum(axis=1)
    units, correlation = independent(slow)
    assert (len(units), correlation > 0.25) == (16, True)  # one chain keeps at least 12
    tie = np.zeros((2, 16, 1))
    assert independent(tie)[0].shape == (32, 1)  # chains that do not vary


# -- the ellipse -------------------------------------------------------------------------------------


def test_the_ellipse_of_batches_by_hand() -> None:
    """Guards against n for n - 1, a forgotten n / J, a wrong centre, and wrong degrees of freedom."""
    chain = made_up(random_sums(150, seed=4))
    terms, found = Terms.of(chain), best(chain)
    h = np.array([found.alpha, found.eta])
    tops = np.array([maximise(terms, slice(6 + 12 * k, 18 + 12 * k), h)[0] for k in range(12)])
    assert found.batches == 12
    away = np.log(tops) - np.log(h)
    covariance = sum(np.outer(row, row) for row in away) / 11 / 12
    assert_allclose(found.ellipse.log_covariance, covariance, rtol=1e-7)
    assert np.abs(away.mean(axis=0)).max() > 1e-3  # the whole chain's top is not the mean of the batches'
    assert_allclose(found.ellipse.center, h)
    # the quantile of F with 2 and m degrees is m/2 ((1 - level)^(-2/m) - 1)
    assert found.ellipse.radius_squared == pytest.approx(11 * (0.05 ** (-2 / 10) - 1))
    assert best(chain, level=0.5).ellipse.radius_squared == pytest.approx(11 * (0.5 ** (-2 / 10) - 1))


def test_batches_of_a_slow_chain_are_joined_and_not_too_far() -> None:
    """Guards against batches that are not joined (50 of them), and against too few (6 of them)."""
    wave = 4 * np.sin(2 * np.pi * np.arange(2500) / 1600)
    slow, quick = random_sums(2500, seed=5), random_sums(2500, seed=6)
    found = best(made_up(slow + wave[:, None]))
    assert found.batches == FEWEST_BATCHES == 12  # 50, 25, 12
    assert found.batch_correlation > 0.25
    assert best(made_up(quick)).batches == 50


@pytest.mark.parametrize(("h", "where"), [((0.5, 1), 0), ((2, 1), 0), ((1, 0.5), 1), ((1, 2), 1), ((1, 1), None)])
def test_every_edge_of_the_hull_is_one(h: tuple[float, float], where: int | None) -> None:
    """Guards against an end that nobody looks at; a thousandth of a per cent away is on the edge."""
    for factor in (1.0, 1.00001, 0.99999):
        found = at_ends(factor * np.array(h), ((0.5, 2.0), (0.5, 2.0)))
        assert found.tolist() == [where == 0, where == 1]


def test_agreement_of_two_chains_has_a_closed_form() -> None:
    """Guards against wrong degrees of freedom: with two chains the p-value is Wilks' lambda to (degrees - 1) / 2."""
    covariances = [np.array([[0.04, 0.01], [0.01, 0.09]]), np.array([[0.05, -0.02], [-0.02, 0.06]])]
    logs = np.array([[0.0, 0.0], [0.3, -0.25]])
    ellipses = [Ellipse.around(np.exp(h), one, 1.0, 0.95) for h, one in zip(logs, covariances, strict=True)]
    found = [Best(1, 1, False, one, 0.0, 0.0, None, many) for one, many in zip(ellipses, (10, 14), strict=True)]
    within = 9 * covariances[0] + 13 * covariances[1]
    between = np.outer(logs[1] - logs[0], logs[1] - logs[0]) / 2
    wilks = np.linalg.det(within) / np.linalg.det(within + between)
    assert agreement(found) == pytest.approx(wilks ** ((22 - 1) / 2))
    assert agreement(found[:1]) is None


# -- searches ----------------------------------------------------------------------------------------


def test_chains_of_a_search_have_seeds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against independent chains that are one chain several times."""
    seeds: list[int] = []

    def stop(job: Any, jobs: list[Any], *rest: Any) -> None:
        seeds.extend(how["seed"] for _, how in jobs)
        raise InterruptedError

    monkeypatch.setattr(several, "team", lambda *_: nullcontext(stop))
    for seed in (0, 1):
        with pytest.raises(InterruptedError):
            search_several(CORPUS, 2, chains=4, seed=seed, sweeps=100)
    assert len(set(seeds)) == 8


def test_the_place_of_a_grid() -> None:
    """Guards against a grid of another width or with other spacing than the pilot tells; ends cut it."""
    pilot: Any = SimpleNamespace(deviations=np.array([0.2, 0.001]), steps=np.array([0.1, 10.0]))
    grid = place(pilot, np.array([1.0, 0.5]), ((0.01, 1.5), (0.01, 10.0)), None)
    assert grid.ends[0] == pytest.approx((np.exp(-0.6), 1.5))
    assert grid.ends[1] == pytest.approx((0.5 * np.exp(-0.02), 0.5 * np.exp(0.02)))  # no narrower
    assert grid.shape == (int(np.ceil((np.log(1.5) + 0.6) / 0.15 + 1)), 7)
    assert place(pilot, np.array([1.0, 0.5]), ((0.01, 1.5), (0.01, 10.0)), (4, 5)).shape == (4, 5)


def test_doubts_begin_where_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against thresholds that are ten times too large or too small: on one side nothing, on the other a line."""
    monkeypatch.setattr(search, "flat_sides", lambda chain, h: [])
    fine = {"moved": 0.051, "round_trips": 5, "uniformity": 0.051}
    good = {"on_edge": False, "batches_on_edge": 0.049, "batch_correlation": 0.24}

    def said(of_best: dict[str, Any], of_chain: dict[str, Any]) -> list[str]:
        found = Best(1.0, 1.0, ellipse=None, region=None, batches=20, **{**good, **of_best})
        chain: Any = SimpleNamespace(ends=GRID.ends, **{**fine, **of_chain})
        return doubts(found, chain, False)

    assert said({}, {}) == []
    bad = [({}, {"moved": 0.049}), ({}, {"round_trips": 4}), ({}, {"uniformity": 0.049}), ({"on_edge": True}, {})]
    bad += [({"batches_on_edge": 0.051}, {}), ({"batch_correlation": 0.26}, {})]
    lines = [said(*one) for one in bad]
    assert [len(one) for one in lines] == [1] * 6
    assert len({one[0] for one in lines}) == 6


# -- the other methods -------------------------------------------------------------------------------


def test_steady_steps_of_gibbs_em_are_in_a_row() -> None:
    """Guards against three steps that hardly move with long ones between them."""
    state = random_start(CORPUS, 2, Prior(0.5, 0.5), np.random.default_rng(1))
    chain, steady = _Chain(state, Histograms(CORPUS), [(0.5, 0.5)]), []
    for h in ((0.5, 0.5), (0.50001, 0.5), (0.6, 0.5), (0.6, 0.5), (0.6, 0.7), (0.6, 0.7), (0.6, 0.7), (0.6, 0.7)):
        chain.move_to(*h, 1e-3)
        steady.append(chain.steady)
    assert steady == [1, 2, 0, 1, 0, 1, 2, 3]
    assert chain.state.alpha.tolist() == [0.6, 0.6]
    assert chain.state.eta == 0.7


def test_the_answer_of_gibbs_em_is_a_geometric_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a mean that large values rule, and one over other steps than the last twenty."""
    path = np.exp(np.random.default_rng(2).standard_normal((61, 2)))
    found: Any = SimpleNamespace(path=path, warnings=[])
    monkeypatch.setattr(compute, "gibbs_em", lambda *_, **__: found)
    answer = hyper(CORPUS, 2, method="gibbs-em")
    product = np.prod(path[41:], axis=0) ** (1 / 20)
    assert (answer["alpha"], answer["eta"]) == pytest.approx(tuple(product))


def test_variational_em_goes_on_while_the_bound_or_h_moves() -> None:
    """Guards against a rule that looks at one of them alone. Bounds are negative, and rise."""
    still, moving = [(0.5, 0.5), (0.5, 0.5)], [(0.5, 0.5), (0.5, 0.501)]
    assert _converged(still, [-100.0, -99.9999], 1e-5)
    assert not _converged(still, [-100.0, -99.99], 1e-5)
    assert not _converged(still, [-99.99, -100.0], 1e-5)
    assert not _converged(moving, [-100.0, -99.9999], 1e-5)
    assert not _converged(still, [-100.0], 1e-5)


def test_the_region_and_the_widths_of_full_bayes() -> None:
    """Guards against a region for the mean of the draws: it is for h, and does not shrink with their number."""
    logs = np.column_stack([np.linspace(0, 1, 101), np.linspace(-2, 0, 101) ** 3])
    found = FullBayes(np.exp(logs), None)  # type: ignore[arg-type]
    region = posterior_region(found)
    assert region is not None
    away = logs - logs.mean(axis=0)
    assert_allclose(region.log_covariance, away.T @ away / 100, rtol=1e-9)
    assert_allclose(region.center, np.exp(logs.mean(axis=0)))
    assert region.radius_squared == pytest.approx(-2 * np.log(0.05))
    assert_allclose(found.deviations, [(0.84 - 0.16) / 2, (logs[84, 1] - logs[16, 1]) / 2], rtol=1e-9)
