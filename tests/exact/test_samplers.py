"""Every registered sampler against enumeration: its stationary law, its transition density, its counts.

The checks are functions of their own, and the negative controls at the end hand them broken samplers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from inspect import signature
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from scipy.stats import t as student

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.lda import SAMPLERS, Sampler, sampler
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import LARGEST, SMALLEST, Prior, State, count, from_assignments

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


def samplers(able: Callable[[Sampler], bool]) -> list[str]:
    return [name for name, entry in SAMPLERS.items() if able(entry)]


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", [pytest.param(sampler(name), id=name) for name in names])


every_sampler = each(SAMPLERS)
with_density = each(samplers(lambda entry: entry.transition_density))


@pytest.mark.parametrize("entry", SAMPLERS.values(), ids=list(SAMPLERS))
def test_the_registry_knows_what_a_sampler_can_do(entry: Sampler) -> None:
    module, rng = sampler(entry.name), np.random.default_rng(1)
    info = module.sweep(module.init(tiny(), 2, Prior(), rng), rng)
    assert entry.transition_density == hasattr(module, "transition_density") == (info.log_transition is not None)
    assert entry.draws_parameters == (info.parameters is not None)
    assert entry.orders == ("order" in signature(module.sweep).parameters)
    assert entry.estimates_evidence == (entry.transition_density or info.log_likelihood is not None)


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


def check_drawn_from_density(
    sweep: Callable[[State, np.random.Generator], object], density: Callable[[State, np.ndarray], float]
) -> None:
    """Independent sweeps from one state: chi-square against its row of P; rare targets pooled as usual, below 5."""
    exact, rng, draws = oracle.enumerate_all(tiny(), 3, Prior((0.2, 0.5, 1.3), 0.3)), np.random.default_rng(2), 8000
    start = 7 * 3**2  # any
    law = np.exp([density(exact.state(start), target) for target in exact.assignments])
    counts = np.zeros(len(law))
    for _ in range(draws):
        state = exact.state(start)
        sweep(state, rng)
        counts[oracle.index_of(state.assignments, 3)] += 1
    often = law * draws >= 5
    observed, expected = (np.append(x[often], x[~often].sum()) for x in (counts, law * draws))
    assert chisquare(observed, expected, sum_check=False).pvalue > FALSE_ALARM


def check_parameters(exact: oracle.Enumeration, draws: oracle.Draws) -> None:
    """theta and beta have their Dirichlet moments given z: the first, the second, and that nothing is left of z.

    What is left of x after its mean given z is uncorrelated with the counts, if x belongs to this z and not to another.
    Student t from batch means and Bonferroni, as above.
    """
    columns = []
    priors = (np.asarray(exact.prior.alpha), exact.prior.eta)
    for axis, x, counts, prior in zip(
        (2, 1), (draws.theta, draws.beta), oracle.counts_of(exact, draws.z), priors, strict=True
    ):
        shape = counts + prior
        total = shape.sum(axis=axis, keepdims=True)
        mean = shape / total
        for left in (x - mean, x**2 - mean * (shape + 1) / (total + 1), (x - mean) * counts):
            columns.append(left.reshape(len(x), -1))
    left = np.hstack(columns)
    left = left[:, np.ptp(left, axis=0) > 0]  # an empty document has no counts
    statistic = left.mean(axis=0) / mcse(left)
    p_values = 2 * student.sf(np.abs(statistic), np.sqrt(len(left)) - 1)
    assert p_values.min() * len(p_values) > FALSE_ALARM, f"largest |t| is {np.abs(statistic).max():.1f}"


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


@pytest.mark.parametrize(("topics", "prior"), CASES[-1:])
def test_stationary_law_of_documents_with_few_of_the_topics(
    monkeypatch: pytest.MonkeyPatch, topics: int, prior: Prior
) -> None:
    """The partially collapsed sampler then has another way to draw, which so few topics would not take."""
    module = sampler("partially-collapsed")
    monkeypatch.setattr(module, "SPARSE_FROM", 1)
    exact = oracle.enumerate_all(tiny(), topics, prior)
    check_stationary(exact, run(module, tiny(), topics, prior, SWEEPS // 2, seed=1))


@with_density
@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_posterior_is_invariant_exactly(module: ModuleType, topics: int, prior: Prior) -> None:
    check_invariant(oracle.enumerate_all(tiny(), topics, prior), module.transition_density)


@with_density
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0]])
def test_posterior_is_invariant_for_every_order_of_documents(module: ModuleType, order: list[int]) -> None:
    """The scan changes, and with it the transition; the law that it leaves invariant does not."""
    corpus, prior = oracle.tiny_corpus([DOCUMENTS[d] for d in order], TERMS), Prior((0.3, 1.2), 0.3)
    exact = oracle.enumerate_all(corpus, 2, prior)
    assert_allclose(exact.log_evidence, oracle.enumerate_all(tiny(), 2, prior).log_evidence, rtol=1e-13)
    check_invariant(exact, module.transition_density)


@with_density
def test_sweeps_are_drawn_from_the_transition_density(module: ModuleType) -> None:
    check_drawn_from_density(module.sweep, module.transition_density)


# -- the transition density -------------------------------------------------------------------------


@with_density
@pytest.mark.parametrize("prior", [Prior(0.1, 0.01), Prior((0.1, 0.2, 0.3, 2.0), 0.5)], ids=str)
def test_log_transition_is_the_transition_density(module: ModuleType, prior: Prior) -> None:
    density, corpus, rng = module.transition_density, moderate(), np.random.default_rng(5)
    state = module.init(corpus, 4, prior, rng)
    for _ in range(20):
        before = from_assignments(corpus, 4, prior, state.assignments)
        info = module.sweep(state, rng)
        assert_allclose(density(before, state.assignments), info.log_transition, atol=1e-9)  # 300 logs of doubles


@with_density
def test_transition_density_leaves_state_and_target_alone(module: ModuleType) -> None:
    density, corpus, prior = module.transition_density, moderate(), Prior(0.1, 0.01)
    state = module.init(corpus, 4, prior, np.random.default_rng(6))
    before, target = state.assignments.copy(), np.zeros(corpus.token_count, np.int32)
    density(state, target)
    assert_array_equal(state.assignments, before)
    assert not target.any()
    check_counts(corpus, state)


@with_density
def test_transition_density_does_not_underflow(module: ModuleType) -> None:
    """300 moves, many of probability 1e-50 or 1e-100: their product is far below the smallest double."""
    density, corpus, prior = module.transition_density, moderate(), Prior(SMALLEST, SMALLEST)
    state = from_assignments(corpus, 4, prior, np.zeros(corpus.token_count))
    value = density(state, np.arange(corpus.token_count) % 4)
    assert np.isfinite(value)
    assert value < np.log(np.finfo(float).smallest_subnormal)


EXTREME = [Prior(SMALLEST, SMALLEST), Prior(0.1, SMALLEST), Prior(1e-6, 1e-6), Prior(1e6, 1e6)]


@every_sampler
@pytest.mark.parametrize("size", [5, 8, 20, 40, 60])
@pytest.mark.parametrize("prior", EXTREME, ids=str)
def test_words_that_occur_in_one_document_only_stay_in_range(module: ModuleType, size: int, prior: Prior) -> None:
    """Their tokens draw each other, by up to 1 / (alpha eta) each."""
    pairs = np.array([[0, 0, size], [1, 1, 500], [1, 2, 3]]).T
    corpus = Corpus.from_counts(*pairs, document_count=2, term_count=4)
    state = from_assignments(corpus, 3, prior, np.repeat([1, 0, 2], pairs[2]))
    rng = np.random.default_rng(4)
    for _ in range(10):
        info = module.sweep(state, rng)
        assert info.log_transition is None or np.isfinite(info.log_transition)


def test_single_site_density_equals_the_plain_twin() -> None:
    """To 1e-12 of 300 logs; alpha and eta so small that the running product must be renewed at every few tokens."""
    corpus, prior, target = moderate(), Prior(SMALLEST, SMALLEST), np.arange(300) % 4
    state = from_assignments(corpus, 4, prior, np.zeros(300))
    _, expected = oracle.plain_sweep(state, lambda i, _: int(target[i]))
    assert_allclose(sampler("single-site").transition_density(state, target), expected, rtol=1e-12)


@with_density
@pytest.mark.parametrize("prior", [Prior(0.4, 0.3), Prior((0.2, 0.5, 1.3, 0.1), 0.3)], ids=str)
def test_names_of_topics_mean_nothing(module: ModuleType, prior: Prior) -> None:
    """g(z, z') stays when topics are renamed, alpha along with them; 1e-9 as above."""
    density, corpus, rng = module.transition_density, moderate(), np.random.default_rng(7)
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
    "partially-collapsed": ("ae72bbe0900a3890", -992.222868963),
}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprint(name: str) -> None:
    prior = Prior(0.5, 0.3)
    assignments = run(sampler(name), moderate(), 4, prior, 5, seed=2024)[-1]
    digest = hashlib.sha256(assignments.astype("<i4").tobytes()).hexdigest()[:16]
    joint = log_joint(from_assignments(moderate(), 4, prior, assignments))
    assert (digest, round(joint, 9)) == FINGERPRINTS[name]


def test_fingerprints_are_of_samplers_that_there_are() -> None:
    """A new sampler gets one as soon as it is not to change any more."""
    assert FINGERPRINTS.keys() <= SAMPLERS.keys()


def test_unknown_sampler_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="single-site"):
        sampler("gibbs")


# -- the order of the tokens ------------------------------------------------------------------------

ORDERED = samplers(lambda entry: entry.orders)
every_order = pytest.mark.parametrize("order", ["document", "term"])
every_ordered = each(ORDERED)


def in_order(module: ModuleType, order: str) -> Callable[[State, np.ndarray], float]:
    return lambda state, target: module.transition_density(state, target, order)


@every_order
@pytest.mark.parametrize("topics", [1, 2, 4, 7, 33])
@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "smallest", "unequal"])
def test_sparse_and_single_site_have_the_density_of_the_plain_twin(order: str, topics: int, kind: str) -> None:
    """Moves between assignments at random, to and from one topic, by a real sweep, and staying where it is."""
    corpus, rng = moderate(), np.random.default_rng(topics)
    prior = {
        "symmetric": Prior(0.1, 0.01),
        "asymmetric": Prior(tuple(np.linspace(0.02, 2.0, topics)), 0.3),
        "smallest": Prior(SMALLEST, SMALLEST),
        "unequal": Prior(tuple(np.geomspace(LARGEST, SMALLEST, topics)), SMALLEST),
    }[kind]
    one_topic, *random = np.vstack([np.zeros(300, int), rng.integers(topics, size=(3, 300))])
    swept = from_assignments(corpus, topics, prior, random[0])
    sampler("sparse").sweep(swept, rng, order)
    moves = [(random[0], swept.assignments), (random[1], random[2]), (one_topic, random[0]), (random[0], one_topic)]
    for z, target in [*moves, (swept.assignments, swept.assignments)]:
        state = from_assignments(corpus, topics, prior, z)
        single_site, sparse = (in_order(sampler(name), order)(state, target) for name in ("single-site", "sparse"))
        assert_allclose(sparse, single_site, rtol=1e-10)
        assert_allclose(single_site, oracle.plain_single_site(state, target, order=order), rtol=1e-10, atol=1e-12)


@every_ordered
@every_order
@pytest.mark.parametrize(("topics", "prior"), CASES[:2])
def test_posterior_is_invariant_for_every_order_of_tokens(
    module: ModuleType, order: str, topics: int, prior: Prior
) -> None:
    check_invariant(oracle.enumerate_all(tiny(), topics, prior), in_order(module, order))


@every_ordered
@every_order
def test_sweeps_in_an_order_are_drawn_from_its_density(module: ModuleType, order: str) -> None:
    check_drawn_from_density(lambda state, rng: module.sweep(state, rng, order), in_order(module, order))


@every_ordered
@every_order
@pytest.mark.parametrize("topics", [1, 2, 7])
def test_sweeps_in_an_order_keep_the_counts(module: ModuleType, order: str, topics: int) -> None:
    """And tell the density of the move that they made."""
    corpus, prior, rng = moderate(), Prior(0.2, 0.05), np.random.default_rng(3)
    state = module.init(corpus, topics, prior, rng)
    for _ in range(10):
        before = state.copy()
        info = module.sweep(state, rng, order)
        check_counts(corpus, state)
        assert_allclose(in_order(module, order)(before, state.assignments), info.log_transition, atol=1e-9)


@every_ordered
def test_the_two_orders_are_two_transitions(module: ModuleType) -> None:
    state = module.init(moderate(), 4, Prior(), np.random.default_rng(4))
    by_document, by_term = (in_order(module, order)(state, np.arange(300) % 4) for order in ("document", "term"))
    assert abs(by_document - by_term) > 1.0


@every_ordered
def test_an_unknown_order_is_refused(module: ModuleType) -> None:
    state = module.init(tiny(), 2, Prior(), np.random.default_rng(4))
    before = state.assignments.copy()
    for refused in (
        lambda: module.sweep(state, np.random.default_rng(5), "topic"),
        lambda: module.transition_density(state, before, "topic"),
    ):
        with pytest.raises(InputError, match="document or term"):
            refused()
    assert_array_equal(state.assignments, before)


# -- theta and beta ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", samplers(lambda entry: entry.draws_parameters))
def test_parameters_belong_to_the_assignments(name: str) -> None:
    """After a sweep (z, theta, beta) has the joint posterior as its law, not each of them alone."""
    exact, rng = oracle.enumerate_all(tiny(), 2, Prior((0.3, 1.2), 0.3)), np.random.default_rng(14)
    state, visited = exact.state(0), []
    for _ in range(SWEEPS // 4):
        parameters = sampler(name).sweep(state, rng).parameters
        visited.append((state.assignments.copy(), np.exp(parameters.log_theta), np.exp(parameters.log_beta)))
    check_parameters(exact, oracle.Draws(*map(np.array, zip(*visited, strict=True))))


# -- negative controls: the same checks refuse broken samplers ---------------------------------------

# of each sampler: its plain twin, and what may be wrong with it. A sampler without a density has a run as its twin.
DENSITIES = {
    "single-site": (oracle.plain_single_site, oracle.FAULTS),
    "sparse": (oracle.plain_sparse, ("smoothing", "list")),
    "blocked-backward": (oracle.plain_blocked, ("blind",)),
    "blocked-nested": (oracle.plain_blocked, ("blind",)),
    "augmented": (oracle.plain_single_site, oracle.FAULTS[:1]),
}
RUNS = {
    "grouped": (oracle.plain_grouped, ("alpha", "mean", "axis")),
    "partially-collapsed": (oracle.plain_partially_collapsed, ("axis", "decrement")),
}
FAULTY = [pytest.param(name, f, id=f"{name}, {f}") for name, (_, faults) in DENSITIES.items() for f in faults]
FAULTY_RUNS = [pytest.param(name, f, id=f"{name}, {f}") for name, (_, faults) in RUNS.items() for f in faults]


def twin_density(name: str, fault: str | None = None) -> Callable[[State, np.ndarray], float]:
    return lambda state, target: DENSITIES[name][0](state, target, fault)


def twin_draws(exact: oracle.Enumeration, density: Callable[[State, np.ndarray], float]) -> np.ndarray:
    """A run of a plain twin, by its transition matrix."""
    cumulative = oracle.transition_matrix(exact, density).cumsum(axis=1)
    row, rows = 0, []
    for uniform in np.random.default_rng(13).random(SWEEPS):
        row = int(np.searchsorted(cumulative[row, :-1], uniform))
        rows.append(row)
    return exact.assignments[rows]


@pytest.fixture(scope="module")
def exact() -> oracle.Enumeration:
    return oracle.enumerate_all(tiny(), 2, Prior(0.4, 0.3))


def test_negative_controls_are_of_samplers_that_there_are() -> None:
    """They are about the checks; a new sampler needs none of its own."""
    assert DENSITIES.keys() | RUNS.keys() <= SAMPLERS.keys()
    assert all(faults for _, faults in [*DENSITIES.values(), *RUNS.values()])


@pytest.mark.parametrize("name", DENSITIES)
def test_the_checks_accept_the_plain_twin(exact: oracle.Enumeration, name: str) -> None:
    """It is a twin: from every assignment to every other, g is the sampler's, to the rounding of its factors."""
    density = twin_density(name)
    check_invariant(exact, density)
    check_stationary(exact, twin_draws(exact, density))
    both = [oracle.transition_matrix(exact, g) for g in (sampler(name).transition_density, density)]
    assert_allclose(*both, rtol=1e-12)


@pytest.mark.parametrize(("name", "fault"), FAULTY)
def test_the_checks_refuse_a_fault(exact: oracle.Enumeration, name: str, fault: str) -> None:
    density = twin_density(name, fault)
    with pytest.raises(AssertionError):
        check_invariant(exact, density)
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(exact, twin_draws(exact, density))


def test_a_density_of_counts_is_refused_as_one_of_tokens(exact: oracle.Enumeration) -> None:
    """Its draws are right: only the rows of P, which then do not sum to one, can tell."""
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_invariant(exact, twin_density("blocked-backward", "coefficient"))


@pytest.mark.parametrize("name", RUNS)
def test_the_checks_accept_a_plain_run(exact: oracle.Enumeration, name: str) -> None:
    draws = RUNS[name][0](exact, SWEEPS // 4, np.random.default_rng(15))
    check_stationary(exact, draws.z)
    check_parameters(exact, draws)


@pytest.mark.parametrize(("name", "fault"), FAULTY_RUNS)
def test_the_checks_refuse_a_run_with_a_fault(exact: oracle.Enumeration, name: str, fault: str) -> None:
    draws = RUNS[name][0](exact, SWEEPS // 4, np.random.default_rng(15), fault)
    with pytest.raises(AssertionError, match="largest"):
        check_stationary(exact, draws.z)


@pytest.mark.parametrize("fault", [None, "alpha", "mean", "late"])
def test_parameters_with_a_fault_are_refused(exact: oracle.Enumeration, fault: str | None) -> None:
    """An augmented sampler whose z is right: nothing but its theta and beta can be wrong."""
    z = twin_draws(exact, twin_density("augmented"))
    draws = oracle.Draws(z, *oracle.plain_parameters(exact, z, np.random.default_rng(16), fault))
    with nullcontext() if fault is None else pytest.raises(AssertionError, match="largest"):
        check_parameters(exact, draws)
