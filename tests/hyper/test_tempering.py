"""Serial tempering against enumeration on a tiny corpus: m(h), I(h), the law on the grid, and the best h."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import t as student
from statsmodels.stats import multivariate

import oracle
import two_topics_oracle
from bayestopics.base.problems import InputError
from bayestopics.hyper import estimates, tempering
from bayestopics.hyper.bands import band, paper_band
from bayestopics.hyper.best import Ellipse, best, best_of_chains, curvature, maximise
from bayestopics.hyper.estimates import Terms, expectation, surface
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.sides import DirichletSide, of_assignments
from bayestopics.hyper.tempering import TemperedChain, log_marginal, temper, tune
from bayestopics.lda import SAMPLERS
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, random_start

CORPUS, TOPICS = oracle.tiny_corpus([[0, 0, 1], [1, 2], [2, 2]], 3), 2
GRID = Grid.spanning((0.2, 2.0), (0.2, 2.0), (3, 3))
ELSEWHERE = np.array([[0.3, 0.3], [0.3, 1.2], [1.0, 0.4], [1.5, 1.5]])  # h between the points of the grid
CHAINS, SWEEPS = 8, 4000
# Student t with CHAINS - 1 degrees, two-sided, Bonferroni over at most 16 comparisons: 1e-5 in all
LIMIT = float(student.isf(1e-5 / 2 / 16, CHAINS - 1))


def squares(parameters, state) -> float:
    """sum_t theta_0t^2, which does not know the labels."""
    return float(np.exp(2 * parameters.log_theta[0]).sum())


@cache
def exact(alpha: float, eta: float) -> tuple[float, float]:
    """(log m(h), E[squares]) by summing over z."""
    found = oracle.enumerate_all(CORPUS, TOPICS, Prior(alpha, eta))
    values = []
    for row in range(len(found.posterior)):
        shape = found.state(row).document_topic[0] + alpha
        values.append(np.sum(shape * (shape + 1)) / (shape.sum() * (shape.sum() + 1)))
    return found.log_evidence, float(found.posterior @ np.array(values))


RUNS = (("augmented", "neighbours"), ("grouped", "all"), ("single-site", "all"), ("sparse", "neighbours"))
PAPER = RUNS[:2]  # those that know theta and beta


@cache
def chains(sampler: str, moves: str) -> tuple[TemperedChain, ...]:
    """Independent ones, at a zeta that is only roughly right, which must not matter."""
    log_zeta = np.array([exact(*h)[0] for h in GRID.points])
    log_zeta += np.random.default_rng(0).normal(0, 0.3, len(log_zeta))
    rngs = [np.random.default_rng([1, number]) for number in range(CHAINS)]
    functionals = (squares,) if SAMPLERS[sampler].draws_parameters else ()
    options = {"sweeps": SWEEPS, "log_zeta": log_zeta, "sampler": sampler, "moves": moves, "functionals": functionals}
    return tuple(temper(CORPUS, TOPICS, GRID, rng=rng, **options) for rng in rngs)


def check(found: np.ndarray, truth: np.ndarray) -> None:
    """Independent rows with these means."""
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    scores = np.abs(found.mean(axis=0) - truth) / error
    assert scores.max() < LIMIT, f"{scores.max():.1f} standard errors off"


def ratios(found: tuple[TemperedChain, ...], kind: str) -> np.ndarray:
    """log M(h) - log M(h*) at all points, h* in the middle of the grid."""
    points = np.concatenate([GRID.points, ELSEWHERE])
    logs = np.array([[Terms.of(chain, kind).log_mean(*h) for h in points] for chain in found])
    return np.delete(logs - logs[:, [4]], 4, axis=1)


def true_ratios() -> np.ndarray:
    points = np.concatenate([GRID.points, ELSEWHERE])
    logs = np.array([exact(*h)[0] for h in points])
    return np.delete(logs - logs[4], 4)


@pytest.mark.parametrize("kind", estimates.KINDS)
@pytest.mark.parametrize("run", RUNS)
def test_marginal_likelihood(run, kind):
    check(ratios(chains(*run), kind), true_ratios())


@pytest.mark.parametrize("kind", estimates.KINDS)
@pytest.mark.parametrize("run", PAPER)
def test_posterior_expectations(run, kind):
    found = np.array([expectation(chain, ELSEWHERE, kind=kind) for chain in chains(*run)])
    check(found, np.array([exact(*h)[1] for h in ELSEWHERE]))


@pytest.mark.parametrize("run", RUNS)
def test_occupancy_is_m_over_zeta(run):
    found = chains(*run)
    law = np.exp([exact(*h)[0] for h in GRID.points] - found[0].log_zeta)
    check(np.array([chain.occupancy for chain in found])[:, :-1], (law / law.sum())[:-1])


def test_a_chain_at_one_point():
    """B_n (2.1): a plain chain at h* says what m(h) / m(h*) is, near h*."""
    alone, near = Grid((0.6,), (0.6,)), np.array([[0.5, 0.5], [0.9, 0.6], [0.6, 1.1]])
    rngs = [np.random.default_rng([3, number]) for number in range(CHAINS)]
    found = [temper(CORPUS, TOPICS, alone, sweeps=SWEEPS, rng=rng, sampler="augmented") for rng in rngs]
    terms = [Terms.of(chain) for chain in found]
    logs = np.array([[one.log_mean(*h) - one.log_mean(0.6, 0.6) for h in near] for one in terms])
    check(logs, np.array([exact(*h)[0] for h in near]) - exact(0.6, 0.6)[0])


def test_a_wrong_constant_of_the_prior_is_caught(monkeypatch):
    """lG(T alpha) is forgotten, in the estimate alone."""
    from scipy.special import gammaln

    right = DirichletSide.basis

    def wrong(self, x, derivative=0):
        constants, weights = right(self, x, derivative)
        return constants - (self.number * gammaln(self.parts * x) if self.parts == TOPICS else 0), weights

    found = chains(*PAPER[0])
    monkeypatch.setattr(DirichletSide, "basis", wrong)
    with pytest.raises(AssertionError, match="standard errors off"):
        check(ratios(found, "hat"), true_ratios())


def test_a_forgotten_proposal_correction_is_caught(monkeypatch):
    """The middle of the grid has more neighbours, and is visited too often."""
    log_zeta = np.array([exact(*h)[0] for h in GRID.points])
    monkeypatch.setattr(tempering, "log_correction", lambda here, there: 0.0)
    rngs = [np.random.default_rng([2, number]) for number in range(CHAINS)]
    options = {"sweeps": SWEEPS, "log_zeta": log_zeta, "moves": "neighbours"}
    found = [temper(CORPUS, TOPICS, GRID, rng=rng, **options) for rng in rngs]
    with pytest.raises(AssertionError, match="standard errors off"):
        check(np.array([chain.occupancy for chain in found])[:, :-1], np.full(8, 1 / 9))


def test_tuning_stops_when_the_grid_is_visited_evenly():
    tuned = tune(CORPUS, TOPICS, GRID, sweeps=3000, rng=np.random.default_rng(3))
    assert tuned.chain.uniformity >= tempering.UNIFORM
    assert tuned.rounds < 12
    assert tuned.chain.round_trips > 0
    truth = np.array([exact(*h)[0] for h in GRID.points])
    assert np.abs(tuned.log_zeta - truth + truth.max()).max() < 0.5  # log m spans over 1 on this grid
    assert np.ptp(truth) > 1.0


def test_surfaces_bands_and_the_best_h():
    chain = chains(*PAPER[0])[0]
    logs, errors = surface(chain, np.array(GRID.alphas), np.array(GRID.etas))
    np.testing.assert_allclose(logs.ravel(), log_marginal(chain), atol=1e-10)
    assert np.all((errors > 0) & (errors < 1))
    _, overlapping = surface(chain, np.array(GRID.alphas), np.array(GRID.etas), method="overlapping")
    assert 0.7 < np.median(overlapping / errors) < 1.4  # 63 batches: each error is known to about 10 %
    found, truth = band(chains(*PAPER[0]), ELSEWHERE), np.array([exact(*h)[1] for h in ELSEWHERE])
    assert np.all(found.lower < found.middle)
    assert np.all((found.lower < truth) & (truth < found.upper))  # a fixed seed; bands of 95 % cover in most
    assert best(chain).on_edge  # m(h) of so small a corpus rises to the edge of this grid
    assert best(chain).ellipse is None


def test_the_papers_band_covers_in_most_cases_where_chains_move_fast():
    """Of 16 bands of 95 %, fewer than 13 would be a false alarm in 1 % of seeds; a third of their width misses."""
    points = np.concatenate([GRID.points, ELSEWHERE])
    truth = np.array([exact(*h)[1] for h in points])
    found = [paper_band(chain, points) for run in PAPER for chain in chains(*run)]
    furthest = [np.max(np.abs(truth - one.middle) / (one.upper - one.middle)) for one in found]
    assert np.sum(np.array(furthest) < 1) >= 13
    assert np.sum(np.array(furthest) < 1 / 3) < 13


def test_the_exact_functionals_of_the_coverage_of_bands():
    """tests/band_coverage.py compares with them: two topics, exactly, against draws from the enumerated posterior."""
    alpha, eta, draws, rng = 0.4, 0.7, 40_000, np.random.default_rng(5)
    near, squared = two_topics_oracle.expectations(CORPUS.counts.toarray().astype(int), alpha, eta, (0, 2), 0.3)
    found = oracle.enumerate_all(CORPUS, TOPICS, Prior(alpha, eta))
    states = [found.state(row) for row in range(len(found.posterior))]
    rows = rng.choice(len(states), draws, p=found.posterior)
    in_first = np.array([state.document_topic[[0, 2], 0] for state in states])[rows]
    rest = np.array([state.document_topic[[0, 2], 1] for state in states])[rows]
    theta = rng.beta(in_first + alpha, rest + alpha)
    close = np.sqrt(2) * np.abs(theta[:, 0] - theta[:, 1]) <= 0.3
    counts = np.array([state.term_topic for state in states])[rows] + eta
    topics = rng.standard_gamma(counts)
    topics /= topics.sum(axis=1, keepdims=True)
    apart = np.square(topics[:, :, 0] - topics[:, :, 1]).sum(axis=1)
    for right, values in ((near, close), (squared, apart)):
        assert abs(values.mean() - right) < 4.5 * values.std() / np.sqrt(draws)


@pytest.mark.parametrize("h", [(0.099, 1.0), (1.0, 0.099)])
def test_an_estimate_without_a_finite_variance_is_refused(h):
    """(2.3): half the lowest point of the grid, 0.2, for psi; z alone has finitely many values."""
    terms = Terms.of(chains(*PAPER[0])[0])
    with pytest.raises(InputError, match=r"no finite variance.*above 0\.1 and eta above 0\.1"):
        terms.log_mean(*h)
    assert np.isfinite(terms.log_mean(0.101, 0.101))


def test_where_an_average_has_a_finite_variance():
    """M-hat: above half the lowest point. M-tilde: above half the highest, 2, which the paper does not say."""
    of_psi, of_z = chains(*PAPER[0])[0], chains(*RUNS[2])[0]
    low, middle, high = (np.array([x, 1.5]) for x in (0.099, 0.9, 1.1))
    assert [estimates.finite_variance(of_psi, h) for h in (low, middle, high)] == [False, True, True]
    assert [estimates.finite_variance(of_psi, h, "tilde") for h in (low, middle, high)] == [False, False, True]
    assert [estimates.finite_variance(of_psi, h[::-1], "tilde") for h in (middle, high)] == [False, True]
    assert estimates.finite_variance(of_z, low, "tilde")


def test_the_error_of_joined_chains_comes_from_their_batches():
    """Guards against batches across the ends of chains, and the error of one chain for that of all."""
    both = chains(*PAPER[0])[:4]
    _, errors = surface(tempering.joined(both), np.array([0.5]), np.array([0.5]), chains=4)
    weights = np.exp([Terms.of(chain).at(0.5, 0.5) for chain in both])
    means = weights.reshape(32, -1).mean(axis=1)
    assert errors[0, 0] == pytest.approx(means.std(ddof=1) / np.sqrt(32) / means.mean())


# -- the two sides ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(0.2, 2.0), (0.001, 50.0), (0.9, 1.1)])
def test_assignments_tell_the_joint_density_between_the_ends(ends):
    """log p(w, z | h) from the stored series, against the density itself; and its derivatives, by differences."""
    rng = np.random.default_rng(11)
    corpus = oracle.random_corpus(rng, 500, 30, 12)
    sides, step = of_assignments(corpus, 4, ends, ends), 1e-4
    state = random_start(corpus, 4, Prior(0.5, 0.5), rng)
    of_alpha, of_eta = sides.rows(state, None)
    values = np.geomspace(*ends, 7)[1:-1]
    for x, y in zip(values, values[::-1], strict=True):
        truth = log_joint(replace(state, alpha=np.full(4, x), eta=y))
        found = of_alpha @ sides.alpha.basis(np.array([x]))[1] + of_eta @ sides.eta.basis(np.array([y]))[1]
        assert found[0] == pytest.approx(truth, abs=1e-8)
    for side, row in ((sides.alpha, of_alpha), (sides.eta, of_eta)):
        below, at, above = (row @ side.basis(values * np.exp(k * step))[1] for k in (-1, 0, 1))
        first, second = (row @ side.basis(values, order)[1] for order in (1, 2))
        np.testing.assert_allclose(first, (above - below) / (2 * step), rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(second, (above - 2 * at + below) / step**2, rtol=1e-3, atol=1e-2)
    with pytest.raises(ValueError, match="holds only between"):
        sides.alpha.basis(np.array([ends[1] * 1.1]))


def test_derivatives_of_a_dirichlet_density():
    side, x, step = DirichletSide(5, 3), np.array([0.01, 0.4, 7.0]), 1e-4

    def value(y):
        constants, weights = side.basis(y)
        return constants - 20.0 * weights[0]

    below, at, above = (value(x * np.exp(k * step)) for k in (-1, 0, 1))
    for order, truth in ((1, (above - below) / (2 * step)), (2, (above - 2 * at + below) / step**2)):
        constants, weights = side.basis(x, order)
        np.testing.assert_allclose(constants - 20.0 * weights[0], truth, rtol=1e-4, atol=1e-5)


# -- the best h, from made-up sums of logs ---------------------------------------------------------

ALPHA, ETA, INSIDE = DirichletSide(30, 3), DirichletSide(3, 6), Grid.spanning((0.3, 3.0), (0.3, 3.0), (4, 4))
PEAK = (0.9, 1.1)  # where nu_h is largest for the mean sums


def made_up(rng: np.random.Generator, sweeps: int, noise: float, peak: tuple[float, float] = PEAK) -> TemperedChain:
    """Independent A and B around those for which nu_h has its top at `peak`."""
    centres = [-side.basis(np.array([x]), 1)[0][0] / x for side, x in ((ALPHA, peak[0]), (ETA, peak[1]))]
    sums = [centre + noise * rng.standard_normal((sweeps, 1)) for centre in centres]
    nothing, index = np.zeros(len(INSIDE)), np.zeros(sweeps, np.int64)
    return TemperedChain(INSIDE, ALPHA, ETA, nothing, index, *sums, np.empty((sweeps, 0)), None, INSIDE.ends)


def test_the_top_and_the_region_where_psi_is_known():
    found = best(made_up(np.random.default_rng(5), 100, 0.0))
    assert (found.alpha, found.eta) == pytest.approx(PEAK, rel=1e-4)
    assert not found.on_edge
    bends = [x * polygamma(1, x * y) - polygamma(1, y) for x, y in ((3, PEAK[0]), (6, PEAK[1]))]
    deviations = np.sqrt(-1 / (np.array([30 * 3, 3 * 6]) * bends))
    assert found.region.deviations == pytest.approx(deviations, rel=1e-3)
    assert found.region.radius_squared == pytest.approx(5.991, abs=1e-3)
    assert found.region.covers(np.array(PEAK))
    assert not found.region.covers(np.array(PEAK) + 3 * deviations)
    edge = found.region.outline(400)
    assert [found.region.covers(h) for h in PEAK * (edge / PEAK) ** 0.99] == [True] * 400
    assert [found.region.covers(h) for h in PEAK * (edge / PEAK) ** 1.01] == [False] * 400
    np.testing.assert_allclose(found.region.extent, [[side.min(), side.max()] for side in edge.T], rtol=1e-4)


def test_a_weak_corpus_has_a_region_of_positive_h():
    """Standard deviations of log h of 1 and 2: in h itself an ellipse with these would reach below zero."""
    wide = Ellipse.around(np.array([0.2, 0.8]), np.diag([1.0, 4.0]), 6.0, 0.95)
    assert wide.outline().min() > 0
    assert np.all(wide.deviations > np.array([0.2, 0.8]) / np.sqrt(6))
    assert wide.covers(np.array([0.2 * np.exp(-2.4), 0.8]))
    assert not wide.covers(np.array([0.2 * np.exp(-2.5), 0.8]))
    assert Ellipse.around(np.array([0.2, 0.8]), np.array([[1.0, 1.0], [1.0, 1.0]]), 6.0, 0.95) is None


def test_the_covariance_of_h_is_that_of_draws_of_it():
    """A small one, so that the logs are nearly linear; 100,000 draws know it to about 1 %."""
    logs = 1e-4 * np.array([[1.0, 0.5], [0.5, 2.0]])
    one = Ellipse.around(np.array([0.2, 3.0]), logs, 6.0, 0.95)
    draws = np.exp(np.random.default_rng(12).multivariate_normal(np.log(one.center), logs, 100_000))
    np.testing.assert_allclose(one.summary()["covariance"], np.cov(draws.T), rtol=0.03)


def test_the_curvature_is_that_of_the_estimate():
    chain, step = made_up(np.random.default_rng(6), 2000, 2.0), 1e-3
    terms, h = Terms.of(chain), np.array([0.8, 1.3])
    moves = step * np.eye(2)

    def value(away):
        return terms.log_mean(*(h * np.exp(away)))

    numbers = [[value(x + y) - value(x - y) - value(y - x) + value(-x - y) for y in moves] for x in moves]
    np.testing.assert_allclose(curvature(terms, h), np.array(numbers) / (4 * step**2), rtol=1e-3, atol=0.02)


def test_the_monte_carlo_ellipse_covers_as_often_as_it_says():
    """Of 100 ellipses of 95 %, fewer than 86 or none missing would be a false alarm in 1 % of seeds."""
    top = best(made_up(np.random.default_rng(7), 200_000, 2.0))
    truth = np.array([top.alpha, top.eta])
    chains = [made_up(np.random.default_rng([8, number]), 900, 2.0) for number in range(100)]
    assert 86 <= sum(best(chain).ellipse.covers(truth) for chain in chains) < 100
    # the same for ellipses of ten chains each
    chains = [made_up(np.random.default_rng([9, number]), 400, 2.0) for number in range(1000)]
    tens = [chains[first : first + 10] for first in range(0, 1000, 10)]
    assert 86 <= sum(best_of_chains(ten).ellipse.covers(truth) for ten in tens) < 100


def test_the_ellipse_of_chains_is_hotellings():
    """From the batches of all chains, about the mean of the chains; on its edge statsmodels' p-value is exactly 5 %."""
    chains = [made_up(np.random.default_rng([11, number]), 400, 2.0) for number in range(8)]
    terms = [Terms.of(chain) for chain in chains]
    own = [maximise(one)[0] for one in terms]
    middle = np.log(own).mean(axis=0)
    tops = np.log([maximise(one, part, h)[0] for one, h in zip(terms, own, strict=True) for part in one.batches(4)])
    found = best_of_chains(chains)
    assert found.batches == 32
    away = tops - middle
    np.testing.assert_allclose(found.ellipse.log_covariance, away.T @ away / 31 / 32)
    root = np.linalg.cholesky(np.array(found.ellipse.log_covariance) * 32)
    like = np.linalg.solve(np.linalg.cholesky(np.cov(tops.T)), (tops - tops.mean(axis=0)).T).T @ root.T
    for h in found.ellipse.outline(7):
        assert multivariate.test_mvmean(like, np.log(h) - middle).pvalue == pytest.approx(0.05, rel=1e-6)


def test_chains_in_two_modes_have_a_region_that_covers_both():
    one, other = (made_up(np.random.default_rng(10), 100, 0.0, peak) for peak in ((0.5, 1.1), (1.5, 1.1)))
    alone, same, both = best(one), best_of_chains([one] * 4), best_of_chains([one, other] * 2)
    np.testing.assert_allclose(same.region.log_covariance, alone.region.log_covariance)
    assert (both.alpha, both.eta) == pytest.approx((np.sqrt(0.75), 1.1), rel=1e-4)
    assert not alone.region.covers(np.array([1.5, 1.1]))
    assert both.region.covers(np.array([0.5, 1.1]))
    assert both.region.covers(np.array([1.5, 1.1]))
    assert not best_of_chains([one] * 4).ellipse  # they do not vary


def test_grids():
    assert len(GRID) == 9
    assert [len(GRID.neighbours(j)) for j in (0, 1, 4)] == [3, 5, 8]
    assert GRID.neighbours(0).tolist() == [1, 3, 4]
    assert GRID.points[5].tolist() == [GRID.alphas[1], GRID.etas[2]]
    for bad in (((), (1.0,)), ((1.0, 0.5), (1.0,)), ((-1.0, 1.0), (1.0,))):
        with pytest.raises(InputError):
            Grid(*bad)
    wrong = ({"sampler": "what"}, {"moves": "what"}, {"functionals": (squares,)}, {"topics": 1}, {"sweeps": 0})
    for one in wrong:
        with pytest.raises(InputError):
            temper(CORPUS, **{"topics": 2, "grid": GRID, "sweeps": 1, "rng": np.random.default_rng(1), **one})


def test_small_hyperparameters_have_finite_logs():
    grid = Grid.spanning((0.01, 0.02), (0.01, 0.02), (2, 2))
    for sampler in SAMPLERS:
        chain = temper(CORPUS, TOPICS, grid, sweeps=500, rng=np.random.default_rng(4), sampler=sampler)
        assert np.all(np.isfinite(chain.of_alpha))
        assert np.all(np.isfinite(chain.of_eta))
        assert np.all(np.isfinite(log_marginal(chain)))
