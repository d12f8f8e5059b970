"""HDP samplers against enumeration: partitions of tiny corpora, the number of topics, beta."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student

import hdp_oracle
import oracle
from bayestopics.errors import mcse
from bayestopics.nonparametric import annealed_split, hdp_blocked, hdp_gibbs, split_merge
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, random_start
from bayestopics.nonparametric.split_merge import CHOICES
from bayestopics.nonparametric.top_level import draw_weights

FALSE_ALARM = 1e-6  # of one check, over seeds; there are about thirty
LEAST_EXPECTED = 120  # visits: rarer partitions are pooled
ITERATIONS, MOVES, CONTROLS = 8_000, 6_000, 5_000  # of samplers, with split-merge, and of negative controls
# a word three times in a document, one twice, words in common, an empty document; and a corpus of one block
FIVE, SEVEN, BLOCK = ([[0, 0, 1], [1, 2], []], 3), ([[0, 0, 0, 1], [0, 1, 1]], 2), ([[0, 0, 0, 0, 0, 0]], 2)
PRIORS = [HdpPrior(1.0, 1.0, 0.3), HdpPrior(0.4, 2.5, 0.2), HdpPrior(3.0, 0.5, 1.0)]
# gamma of the last case is small, because blocks with many topics of their own hardly move, which batch means miss
PRIORS += [HdpPrior(0.5, 30.0, 0.5), HdpPrior(1.0, 2.0, 1.0)]
CASES = list(zip([FIVE, FIVE, FIVE, SEVEN, BLOCK], PRIORS, strict=True))
NAMES = [f"{sum(map(len, documents))} tokens, {prior}" for (documents, _), prior in CASES]
every_case = pytest.mark.parametrize(("corpus", "prior"), CASES, ids=NAMES)

Documents = tuple[list[list[int]], int]
Step = Callable[[HdpState, np.random.Generator], HdpState]


@cache
def exact_posterior(case: int) -> hdp_oracle.Posterior:
    corpus, prior = CASES[case]
    return hdp_oracle.posterior(oracle.tiny_corpus(*corpus), prior)


def check_stationary(
    corpus: Documents, prior: HdpPrior, step: Step, seed: int, iterations: int, expect: HdpPrior | None = None
) -> None:
    """Shares of partitions and of K, and means of beta_u and sum_k beta_k^2, within batch-means errors.

    Student t with sqrt(n) - 1 degrees of freedom, Bonferroni over all of them.
    """
    tiny, rng = oracle.tiny_corpus(*corpus), np.random.default_rng(seed)
    exact = exact_posterior(CASES.index((corpus, expect or prior)))
    state, z, moments = random_start(tiny, prior, 2, rng), [], []
    for _ in range(iterations):
        state = step(state, rng)
        beta = state.beta
        z.append(state.assignments.copy())
        moments.append((beta[-1], np.square(beta[:-1]).sum()))
    columns, expected = shares(exact, np.array(z))
    columns = np.column_stack([columns, moments])
    expected = np.array([*expected, exact.beta_unseen, exact.beta_squares])
    statistic = (columns.mean(axis=0) - expected) / mcse(columns)
    p_values = 2 * student.sf(np.abs(statistic), np.sqrt(iterations) - 1)
    assert p_values.min() * len(p_values) > FALSE_ALARM, f"largest |t| is {np.abs(statistic).max():.1f}"


def shares(exact: hdp_oracle.Posterior, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indicators of each frequent partition, of all the others together, and of each K; and their probabilities."""
    frequent = exact.probability * len(z) >= LEAST_EXPECTED
    at = hdp_oracle.codes(z)[:, None] == hdp_oracle.codes(exact.partitions[frequent])
    number = 1 + (np.diff(np.sort(z, axis=1)) > 0).sum(axis=1)
    topics = np.flatnonzero(exact.topics * len(z) >= LEAST_EXPECTED)
    expected = exact.probability[frequent]
    columns = np.column_stack([at, ~at.any(axis=1), number[:, None] == topics])
    values = np.array([*expected, 1 - expected.sum(), *exact.topics[topics]])
    kept = np.minimum(values, 1 - values) * len(z) >= LEAST_EXPECTED
    return columns[:, kept], values[kept]


def moves_only(choice: str) -> Step:
    return lambda state, rng: split_merge.split_merge(draw_weights(state, rng), rng, "exact", choice)[0]


def moves_after_sweeps(choice: str) -> Step:
    return lambda state, rng: split_merge.split_merge(hdp_gibbs.sweep(state, rng), rng, "exact", choice)[0]


@pytest.fixture
def short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealed_split, "STEPS", (1, 5))


def annealed(state: HdpState, rng: np.random.Generator) -> HdpState:
    return annealed_split.annealed_split_merge(draw_weights(state, rng), rng)[0]


# -- the oracle --------------------------------------------------------------------------------------


def test_densities_of_all_corpora_sum_to_one() -> None:
    """Summed over all words of three tokens in two documents, so that every constant of the oracle is checked."""
    prior, total = HdpPrior(0.7, 1.4, 0.3), 0.0
    for first in np.ndindex(2, 2, 2):
        corpus = oracle.tiny_corpus([sorted(first[:2]), [first[2]]], 2)
        total += np.exp(hdp_oracle.posterior(corpus, prior).log_evidence)
    assert_allclose(total, 1.0, rtol=1e-12)


def test_the_density_with_beta_integrates_to_that_of_the_tables() -> None:
    """Two tokens in two topics and in one: beta_1, beta_2 on a grid, by the midpoint rule."""
    corpus, prior, points = oracle.tiny_corpus([[0], [1]], 2), HdpPrior(2.0, 1.5, 0.4), (np.arange(400) + 0.5) / 400
    one = sum(np.exp(hdp_oracle.log_joint(corpus, prior, np.array([0, 0]), np.array([x, 1 - x]))) for x in points) / 400
    exact = hdp_oracle.posterior(corpus, prior)
    together = exact.partitions.max(axis=1) == 0
    assert_allclose(one, np.exp(exact.log_evidence) * exact.probability[together].sum(), rtol=1e-4)


# -- samplers ----------------------------------------------------------------------------------------


@every_case
def test_gibbs_has_the_exact_posterior(corpus: Documents, prior: HdpPrior) -> None:
    check_stationary(corpus, prior, hdp_gibbs.sweep, 1, ITERATIONS)


@every_case
def test_blocked_gibbs_has_the_exact_posterior(corpus: Documents, prior: HdpPrior) -> None:
    check_stationary(corpus, prior, hdp_blocked.sweep, 2, ITERATIONS)


@pytest.mark.parametrize(("corpus", "prior"), CASES[:4], ids=NAMES[:4])
@pytest.mark.parametrize("choice", CHOICES)
def test_split_merge_alone_has_the_exact_posterior(corpus: Documents, prior: HdpPrior, choice: str) -> None:
    check_stationary(corpus, prior, moves_only(choice), 3, MOVES)


@pytest.mark.parametrize("choice", CHOICES)
def test_split_merge_between_sweeps_has_the_exact_posterior(choice: str) -> None:
    check_stationary(*CASES[3], moves_after_sweeps(choice), 4, MOVES)


@pytest.mark.usefixtures("short_paths")
@pytest.mark.parametrize(("corpus", "prior"), CASES[1:4:2], ids=NAMES[1:4:2])
def test_annealed_splits_and_merges_have_the_exact_posterior(corpus: Documents, prior: HdpPrior) -> None:
    check_stationary(corpus, prior, annealed, 8, MOVES)


# -- negative controls: the same check refuses what is wrong -------------------------------------------


@pytest.mark.parametrize("step", [hdp_gibbs.sweep, hdp_blocked.sweep], ids=["gibbs", "blocked"])
def test_another_prior_is_refused(step: Step) -> None:
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(FIVE, HdpPrior(1.25, 1.0, 0.3), step, 5, ITERATIONS, expect=PRIORS[0])


FAULTS = {
    "jacobian": lambda state, halves, whole, share, topics, choice: -np.log(whole / state.concentration),
    "proportion": lambda state, halves, whole, share, topics, choice: split_merge._log_beta_density(
        share, *split_merge.tables_expected(halves.in_document, whole / 2)
    ),
    "selection": lambda state, halves, whole, share, topics, choice: -split_merge.log_selection(halves, topics, choice),
    "seeds": lambda state, halves, whole, share, topics, choice: np.log(
        halves.total.prod() / (halves.total.sum() * (halves.total.sum() - 1))
    ),
    "unordered pair": lambda state, halves, whole, share, topics, choice: np.log(2.0),
    "gamma": lambda state, halves, whole, share, topics, choice: -np.log(state.gamma),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_ratio_without_one_of_its_factors_is_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = split_merge.split_log_ratio
    monkeypatch.setattr(split_merge, "split_log_ratio", lambda *path: right(*path) + FAULTS[fault](*path))
    iterations = CONTROLS * (4 if fault == "proportion" else 1)  # this fault is the hardest to detect
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(*CASES[3], moves_only("uniform"), 6, iterations)


def test_the_rule_of_the_paper_is_refused() -> None:
    def step(state: HdpState, rng: np.random.Generator) -> HdpState:
        return split_merge.split_merge(hdp_gibbs.sweep(state, rng), rng, "paper", "uniform")[0]

    with pytest.raises(AssertionError, match="largest"):
        check_stationary(FIVE, PRIORS[0], step, 7, CONTROLS)


@pytest.mark.usefixtures("short_paths")
@pytest.mark.parametrize("fault", ["unordered pair", "gamma", "share", "tables"])
def test_an_annealed_move_with_a_fault_is_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor that is left out of the selection or of the weight, or an update of x with too many tables."""
    path, select, draw = annealed_split.Path, annealed_split.log_selection, annealed_split.Path._draw_share
    ratio = path.log_ratio.fget
    if fault == "unordered pair":
        monkeypatch.setattr(annealed_split, "log_selection", lambda *given: select(*given) + np.log(2.0))
    elif fault == "gamma":
        monkeypatch.setattr(path, "log_ratio", property(lambda self: ratio(self) - np.log(self.pair.gamma)))
    elif fault == "share":
        monkeypatch.setattr(path, "log_ratio", property(lambda self: ratio(self) + np.log(self.share).sum() / 2))
    else:
        monkeypatch.setattr(path, "_draw_share", lambda self, b, *given: draw(self, b - 4.0, *given))
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(*CASES[3], annealed, 9, CONTROLS)
