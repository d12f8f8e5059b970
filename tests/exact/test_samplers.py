"""Every registered sampler against enumeration: its stationary law, its transition density, its counts.

The checks are functions of their own, and the negative controls at the end hand them broken samplers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from scipy.stats import t as student

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.lda import SAMPLERS, sampler
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import SMALLEST, Prior, State, count, from_assignments
from bayestopics.problems import InputError

SWEEPS = 40_000
FALSE_ALARM = 1e-6  # of one statistical check, over seeds; there are about ten
LEAST_EXPECTED = 400  # visits: rarer assignments are pooled, because their counts are far from normal
# document 0 repeats a (document, term) pair, terms are shared between documents, one document is empty
DOCUMENTS, TERMS = [[0, 0, 1], [1, 2], []], 3
CASES = [
    pytest.param(2, Prior(0.4, 0.3), id="2 topics"),
    pytest.param(2, Prior((0.3, 1.2), 0.3), id="2 topics, asymmetric"),
    pytest.param(3, Prior(0.4, 0.3), id="3 topics"),
    pytest.param(3, Prior((0.2, 0.5, 1.3), 0.3), id="3 topics, asymmetric"),
]

every_sampler = pytest.mark.parametrize("module", [sampler(name) for name in SAMPLERS], ids=list(SAMPLERS))


def with_density(module: ModuleType) -> Callable[[State, np.ndarray], float]:
    if not hasattr(module, "transition_density"):
        pytest.skip(f"{module.__name__} has no transition density in closed form")
    return module.transition_density


def tiny() -> Corpus:
    return oracle.tiny_corpus(DOCUMENTS, TERMS)


def moderate() -> Corpus:
    """300 tokens in 15 documents, with many repeated (document, term) pairs."""
    token = np.arange(300)
    return Corpus.from_counts(token % 15, token**2 % 13, np.ones(300, int), document_count=15, term_count=13)


def check_stationary(exact: oracle.Enumeration, draws: np.ndarray) -> None:
    """The share of sweeps at each assignment is its posterior probability, within batch-means errors.

    Student t with sqrt(n) - 1 degrees of freedom, Bonferroni over the assignments. Over 240 seeds of a right
    sampler the corrected p-value was below 0.05 in 5 % of them.
    """
    visits = oracle.index_of(draws, exact.topics)
    frequent = np.flatnonzero(exact.posterior * len(visits) >= LEAST_EXPECTED)
    at = visits[:, None] == frequent
    at, expected = np.column_stack([at, ~at.any(axis=1)]), exact.posterior[frequent]
    expected = np.append(expected, 1 - expected.sum())
    with np.errstate(divide="ignore"):  # an assignment that is never visited has no error
        statistic = (at.mean(axis=0) - expected) / mcse(at)
    p_values = 2 * student.sf(np.abs(statistic), np.sqrt(len(visits)) - 1)
    assert p_values.min() * len(p_values) > FALSE_ALARM, f"largest |t| is {np.abs(statistic).max():.1f}"


def check_invariant(exact: oracle.Enumeration, density: Callable[[State, np.ndarray], float]) -> None:
    """Rows of P sum to one, and pi P = pi: 1e-12 is 243 roundings of 1e-16 with room."""
    transition = oracle.transition_matrix(exact, density)
    assert_allclose(transition.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(exact.posterior @ transition, exact.posterior, atol=1e-12)


def run(module: ModuleType, corpus: Corpus, topics: int, prior: Prior, sweeps: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    state = module.init(corpus, topics, prior, rng)
    draws = np.empty((sweeps, corpus.token_count), np.int32)
    for draw in draws:
        module.sweep(state, rng)
        draw[:] = state.assignments
    return draws


# -- the law of a sweep -----------------------------------------------------------------------------


@every_sampler
@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_stationary_law_is_the_posterior(module: ModuleType, topics: int, prior: Prior) -> None:
    exact = oracle.enumerate_all(tiny(), topics, prior)
    check_stationary(exact, run(module, tiny(), topics, prior, SWEEPS, seed=1))


@every_sampler
@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_posterior_is_invariant_exactly(module: ModuleType, topics: int, prior: Prior) -> None:
    check_invariant(oracle.enumerate_all(tiny(), topics, prior), with_density(module))


@every_sampler
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0]])
def test_posterior_is_invariant_for_every_order_of_documents(module: ModuleType, order: list[int]) -> None:
    """The scan changes, and with it the transition; the law that it leaves invariant does not."""
    corpus, prior = oracle.tiny_corpus([DOCUMENTS[d] for d in order], TERMS), Prior((0.3, 1.2), 0.3)
    exact = oracle.enumerate_all(corpus, 2, prior)
    assert_allclose(exact.log_evidence, oracle.enumerate_all(tiny(), 2, prior).log_evidence, rtol=1e-13)
    check_invariant(exact, with_density(module))


@every_sampler
def test_sweeps_are_drawn_from_the_transition_density(module: ModuleType) -> None:
    """Independent sweeps from one state: chi-square against its row of P; rare targets pooled as usual, below 5."""
    density, prior = with_density(module), Prior((0.2, 0.5, 1.3), 0.3)
    exact, rng, draws = oracle.enumerate_all(tiny(), 3, prior), np.random.default_rng(2), 8000
    start = 7 * 3**2  # any
    law = np.exp([density(exact.state(start), target) for target in exact.assignments])
    counts = np.zeros(len(law))
    for _ in range(draws):
        state = exact.state(start)
        module.sweep(state, rng)
        counts[oracle.index_of(state.assignments, 3)] += 1
    often = law * draws >= 5
    observed, expected = (np.append(x[often], x[~often].sum()) for x in (counts, law * draws))
    assert chisquare(observed, expected, sum_check=False).pvalue > FALSE_ALARM


# -- the transition density -------------------------------------------------------------------------


@every_sampler
@pytest.mark.parametrize("prior", [Prior(0.1, 0.01), Prior((0.1, 0.2, 0.3, 2.0), 0.5)], ids=str)
def test_log_transition_is_the_transition_density(module: ModuleType, prior: Prior) -> None:
    density, corpus, rng = with_density(module), moderate(), np.random.default_rng(5)
    state = module.init(corpus, 4, prior, rng)
    for _ in range(20):
        before = from_assignments(corpus, 4, prior, state.assignments)
        info = module.sweep(state, rng)
        assert_allclose(density(before, state.assignments), info.log_transition, atol=1e-9)  # 300 logs of doubles


@every_sampler
def test_transition_density_leaves_state_and_target_alone(module: ModuleType) -> None:
    density, corpus, prior = with_density(module), moderate(), Prior(0.1, 0.01)
    state = module.init(corpus, 4, prior, np.random.default_rng(6))
    before, target = state.assignments.copy(), np.zeros(corpus.token_count, np.int32)
    density(state, target)
    assert_array_equal(state.assignments, before)
    assert not target.any()
    check_counts(corpus, state)


@every_sampler
def test_transition_density_does_not_underflow(module: ModuleType) -> None:
    """300 moves, many of probability 1e-50 or 1e-100: their product is far below the smallest double."""
    density, corpus, prior = with_density(module), moderate(), Prior(SMALLEST, SMALLEST)
    state = from_assignments(corpus, 4, prior, np.zeros(corpus.token_count))
    value = density(state, np.arange(corpus.token_count) % 4)
    assert np.isfinite(value)
    assert value < np.log(np.finfo(float).smallest_subnormal)


def test_single_site_density_equals_the_plain_twin() -> None:
    """To 1e-12 of 300 logs; alpha and eta so small that the running product must be renewed at every few tokens."""
    corpus, prior, target = moderate(), Prior(SMALLEST, SMALLEST), np.arange(300) % 4
    state = from_assignments(corpus, 4, prior, np.zeros(300))
    _, expected = oracle.plain_sweep(state, lambda i, _: int(target[i]))
    assert_allclose(sampler("single-site").transition_density(state, target), expected, rtol=1e-12)


@every_sampler
@pytest.mark.parametrize("prior", [Prior(0.4, 0.3), Prior((0.2, 0.5, 1.3, 0.1), 0.3)], ids=str)
def test_names_of_topics_mean_nothing(module: ModuleType, prior: Prior) -> None:
    """g(z, z') stays when topics are renamed, alpha along with them; 1e-9 as above."""
    density, corpus, rng = with_density(module), moderate(), np.random.default_rng(7)
    z, target, topic = rng.integers(4, size=300), rng.integers(4, size=300), np.array([2, 3, 1, 0])
    alpha = np.empty(4)
    alpha[topic] = prior.alpha
    renamed = from_assignments(corpus, 4, Prior(tuple(alpha), prior.eta), topic[z])
    expected = density(from_assignments(corpus, 4, prior, z), target)
    assert_allclose(density(renamed, topic[target]), expected, atol=1e-9)


@every_sampler
def test_one_topic_has_nowhere_to_go(module: ModuleType) -> None:
    state = module.init(moderate(), 1, Prior(0.1, 0.1), np.random.default_rng(8))
    info = module.sweep(state, np.random.default_rng(9))
    assert not state.assignments.any()
    assert info.log_transition is None or info.log_transition == 0.0


# -- the state --------------------------------------------------------------------------------------


def check_counts(corpus: Corpus, state: State) -> None:
    counts = count(corpus, state.topics, state.assignments)
    for kept, recounted in zip((state.document_topic, state.term_topic, state.topic_total), counts, strict=True):
        assert_array_equal(kept, recounted)


@every_sampler
@pytest.mark.parametrize("topics", [1, 2, 7])
@pytest.mark.parametrize("corpus", [tiny(), moderate()], ids=["tiny", "moderate"])
def test_counts_equal_a_recount_after_every_sweep(module: ModuleType, topics: int, corpus: Corpus) -> None:
    rng = np.random.default_rng(3)
    state = module.init(corpus, topics, Prior(0.2, 0.05), rng)
    for _ in range(30):
        check_counts(corpus, state)
        module.sweep(state, rng)
        assert state.assignments.min() >= 0
        assert state.assignments.max() < topics
    check_counts(corpus, state)


@every_sampler
def test_all_randomness_comes_from_the_generator(module: ModuleType) -> None:
    first, second = (run(module, moderate(), 4, Prior(), 10, seed=11) for _ in range(2))
    assert_array_equal(first, second)
    assert np.any(first != run(module, moderate(), 4, Prior(), 10, seed=12))


# Tells that something changed, not that it is wrong: (sha256 of the assignments, log joint) after five sweeps.
FINGERPRINTS = {
    "single-site": ("254c6df4a8b172d7", -933.141576108),
    "sparse": ("a9f964899bef05ac", -964.36995072),
    "blocked-backward": ("4f7756ee97952296", -962.449616619),
    "blocked-nested": ("7eff6363d32b4607", -954.144369716),
    "grouped": ("2c63a30303253305", -960.568929473),
    "augmented": ("1b68426a9999c2b7", -968.084210032),
}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprint(name: str) -> None:
    prior = Prior(0.5, 0.3)
    assignments = run(sampler(name), moderate(), 4, prior, 5, seed=2024)[-1]
    digest = hashlib.sha256(assignments.astype("<i4").tobytes()).hexdigest()[:16]
    joint = log_joint(from_assignments(moderate(), 4, prior, assignments))
    assert (digest, round(joint, 9)) == FINGERPRINTS[name]


def test_every_sampler_has_a_fingerprint() -> None:
    assert FINGERPRINTS.keys() == SAMPLERS.keys()


def test_unknown_sampler_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="single-site"):
        sampler("gibbs")


# -- negative controls: the same checks refuse broken samplers ---------------------------------------


def plain_density(fault: str | None) -> Callable[[State, np.ndarray], float]:
    return lambda state, target: oracle.plain_sweep(state, lambda i, _: int(target[i]), fault)[1]


def plain_draws(exact: oracle.Enumeration, fault: str | None) -> np.ndarray:
    """A run of the plain twin, by its transition matrix."""
    cumulative = oracle.transition_matrix(exact, plain_density(fault)).cumsum(axis=1)
    row, rows = 0, []
    for uniform in np.random.default_rng(13).random(SWEEPS):
        row = int(np.searchsorted(cumulative[row, :-1], uniform))
        rows.append(row)
    return exact.assignments[rows]


@pytest.fixture(scope="module")
def exact() -> oracle.Enumeration:
    return oracle.enumerate_all(tiny(), 2, Prior(0.4, 0.3))


def test_the_checks_accept_the_plain_twin(exact: oracle.Enumeration) -> None:
    check_invariant(exact, plain_density(None))
    check_stationary(exact, plain_draws(exact, None))


@pytest.mark.parametrize("fault", oracle.FAULTS)
def test_the_checks_refuse_a_fault(exact: oracle.Enumeration, fault: str) -> None:
    with pytest.raises(AssertionError):
        check_invariant(exact, plain_density(fault))
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(exact, plain_draws(exact, fault))
