"""Serial tempering against enumeration on a tiny corpus: m(h), I(h), the law on the grid, and the best h."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import t as student

import oracle
from bayestopics.hyper import estimates, tempering
from bayestopics.hyper.estimates import Terms, bands, best, expectation, surface
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.prior_density import Sizes, gradient, log_prior, second_derivatives
from bayestopics.hyper.tempering import TemperedChain, log_marginal, temper, tune
from bayestopics.lda.state import Prior
from bayestopics.problems import InputError

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


@cache
def chains(sampler: str) -> tuple[TemperedChain, ...]:
    """Independent ones, at a zeta that is only roughly right, which must not matter."""
    log_zeta = np.array([exact(*h)[0] for h in GRID.points])
    log_zeta += np.random.default_rng(0).normal(0, 0.3, len(log_zeta))
    rngs = [np.random.default_rng([1, number]) for number in range(CHAINS)]
    options = {"sweeps": SWEEPS, "log_zeta": log_zeta, "sampler": sampler, "functionals": (squares,)}
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
@pytest.mark.parametrize("sampler", tempering.SAMPLERS)
def test_marginal_likelihood(sampler, kind):
    check(ratios(chains(sampler), kind), true_ratios())


@pytest.mark.parametrize("kind", estimates.KINDS)
@pytest.mark.parametrize("sampler", tempering.SAMPLERS)
def test_posterior_expectations(sampler, kind):
    found = np.array([expectation(chain, ELSEWHERE, kind=kind) for chain in chains(sampler)])
    check(found, np.array([exact(*h)[1] for h in ELSEWHERE]))


def test_occupancy_is_m_over_zeta():
    found = chains("augmented")
    law = np.exp([exact(*h)[0] for h in GRID.points] - found[0].log_zeta)
    check(np.array([chain.occupancy for chain in found])[:, :-1], (law / law.sum())[:-1])


def test_a_wrong_constant_of_the_prior_is_caught(monkeypatch):
    """lG(T alpha) is forgotten, in the estimate alone."""
    right = estimates.log_prior

    def wrong(sizes, alpha, eta, a, b):
        from scipy.special import gammaln

        return right(sizes, alpha, eta, a, b) - sizes.documents * gammaln(sizes.topics * alpha)

    found = chains("augmented")
    monkeypatch.setattr(estimates, "log_prior", wrong)
    with pytest.raises(AssertionError, match="standard errors off"):
        check(ratios(found, "hat"), true_ratios())


def test_a_forgotten_proposal_correction_is_caught(monkeypatch):
    """The middle of the grid has more neighbours, and is visited too often."""
    log_zeta = np.array([exact(*h)[0] for h in GRID.points])
    monkeypatch.setattr(tempering, "log_correction", lambda here, there: 0.0)
    rngs = [np.random.default_rng([2, number]) for number in range(CHAINS)]
    found = [temper(CORPUS, TOPICS, GRID, sweeps=SWEEPS, rng=rng, log_zeta=log_zeta) for rng in rngs]
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
    chain = chains("augmented")[0]
    logs, errors = surface(chain, np.array(GRID.alphas), np.array(GRID.etas))
    np.testing.assert_allclose(logs.ravel(), log_marginal(chain, GRID.points), atol=1e-10)
    assert np.all((errors > 0) & (errors < 1))
    lower, middle, upper = bands(chain, ELSEWHERE)
    truth = np.array([exact(*h)[1] for h in ELSEWHERE])
    assert np.all(lower < middle)
    assert np.all((lower < truth) & (truth < upper))  # a fixed seed; bands of 95 % cover in most
    assert best(chain).on_edge  # m(h) of so small a corpus rises to the edge of this grid
    assert best(chain).ellipse is None


# -- the best h, from made-up sums of logs ---------------------------------------------------------

SIZES, INSIDE = Sizes(30, 3, 6), Grid.spanning((0.3, 3.0), (0.3, 3.0), (4, 4))
PEAK = (0.9, 1.1)  # where nu_h is largest for the mean sums


def made_up(rng: np.random.Generator, sweeps: int, noise: float) -> TemperedChain:
    """Independent A and B around those for which nu_h has its top at PEAK."""
    zero = np.zeros(1)
    a, b = (-float(x[0]) for x in gradient(SIZES, *PEAK, zero, zero))
    sums = [centre + noise * rng.standard_normal(sweeps) for centre in (a, b)]
    nothing = np.zeros(len(INSIDE))
    index, empty = np.zeros(sweeps, np.int64), np.empty((sweeps, 0))
    return TemperedChain(INSIDE, SIZES, nothing, index, *sums, empty, np.zeros(sweeps, bool), None)


def test_the_top_and_the_region_where_psi_is_known():
    found = best(made_up(np.random.default_rng(5), 100, 0.0))
    assert (found.alpha, found.eta) == pytest.approx(PEAK, rel=1e-4)
    assert not found.on_edge
    deviations = np.sqrt(-1 / np.array(second_derivatives(SIZES, *PEAK)))
    assert np.sqrt(np.diag(found.region.covariance)) == pytest.approx(deviations, rel=1e-3)
    assert found.region.radius_squared == pytest.approx(5.991, abs=1e-3)
    assert found.region.covers(np.array(PEAK))
    assert not found.region.covers(np.array(PEAK) + 3 * deviations)


def test_the_curvature_is_that_of_the_estimate():
    chain, step = made_up(np.random.default_rng(6), 2000, 2.0), 1e-3
    found, terms = best(chain), Terms.of(chain)
    h = np.array([found.alpha, found.eta])
    moves = step * np.eye(2)
    numbers = [
        [
            terms.log_mean(*(h + x + y)) - terms.log_mean(*(h + x - y)) - terms.log_mean(*(h - x + y))
            + terms.log_mean(*(h - x - y))
            for y in moves
        ]
        for x in moves
    ]  # fmt: skip
    inverse = np.linalg.inv(np.array(found.region.covariance))
    np.testing.assert_allclose(-inverse, np.array(numbers) / (4 * step**2), rtol=1e-3, atol=0.02)


def test_the_monte_carlo_ellipse_covers_as_often_as_it_says():
    """Of 100 ellipses of 95 %, fewer than 86 or none missing would be a false alarm in 1 % of seeds."""
    truth = best(made_up(np.random.default_rng(7), 200_000, 2.0))
    chains = [made_up(np.random.default_rng([8, number]), 900, 2.0) for number in range(100)]
    covered = sum(best(chain).ellipse.covers(np.array([truth.alpha, truth.eta])) for chain in chains)
    assert 86 <= covered < 100


def test_derivatives():
    sizes, a, b = Sizes(5, 3, 7), np.array([-20.0]), np.array([-60.0])
    alpha, eta, step = 0.4, 0.7, 1e-5

    def value(x, y):
        return float(log_prior(sizes, np.float64(x), np.float64(y), a, b)[0])

    by_alpha, by_eta = gradient(sizes, alpha, eta, a, b)
    assert by_alpha[0] == pytest.approx((value(alpha + step, eta) - value(alpha - step, eta)) / (2 * step), rel=1e-6)
    assert by_eta[0] == pytest.approx((value(alpha, eta + step) - value(alpha, eta - step)) / (2 * step), rel=1e-6)
    twice = second_derivatives(sizes, alpha, eta)
    both = [gradient(sizes, alpha + step, eta, a, b), gradient(sizes, alpha - step, eta, a, b)]
    assert twice[0] == pytest.approx((both[0][0][0] - both[1][0][0]) / (2 * step), rel=1e-6)
    both = [gradient(sizes, alpha, eta + step, a, b), gradient(sizes, alpha, eta - step, a, b)]
    assert twice[1] == pytest.approx((both[0][1][0] - both[1][1][0]) / (2 * step), rel=1e-6)


def test_grids():
    assert len(GRID) == 9
    assert [len(GRID.neighbours(j)) for j in (0, 1, 4)] == [3, 5, 8]
    assert GRID.neighbours(0).tolist() == [1, 3, 4]
    assert GRID.points[5].tolist() == [GRID.alphas[1], GRID.etas[2]]
    for bad in (((), (1.0,)), ((1.0, 0.5), (1.0,)), ((1.0,), (1.0,)), ((-1.0, 1.0), (1.0,))):
        with pytest.raises(InputError):
            Grid(*bad)
    with pytest.raises(InputError, match="draws theta and beta"):
        temper(CORPUS, 2, GRID, sweeps=1, rng=np.random.default_rng(1), sampler="single-site")


def test_small_hyperparameters_have_finite_logs():
    grid = Grid.spanning((0.01, 0.02), (0.01, 0.02), (2, 2))
    chain = temper(CORPUS, TOPICS, grid, sweeps=500, rng=np.random.default_rng(4))
    assert np.all(np.isfinite([chain.a, chain.b]))
    assert np.all(np.isfinite(log_marginal(chain, grid.points)))
