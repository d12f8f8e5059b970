"""The pseudo-marginal estimate against enumeration: its expectation, and the law of the z that belongs to it.

The checks are functions of their own, and the negative controls hand them wrong estimates.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import dirichlet, norm

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import pseudo_marginal
from bayestopics.evidence.pseudo_marginal import PRIOR, Estimates, Inner, Joint, estimate, estimate_together
from bayestopics.lda import SAMPLERS, lanes, sampler
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import LARGEST, SMALLEST, Prior, from_assignments, random_start
from bayestopics.lda.uniforms import new_words

FALSE_ALARM = 1e-6  # of one statistical check, over seeds; there are about thirty
REPEATS = 1500
# document 0 repeats a (document, term) pair, terms are shared between documents, one document is empty
DOCUMENTS, TERMS, TOPICS = [[0, 0, 1], [1, 2], []], 3, 2
START = np.array([0, 0, 1, 1, 1])  # any
WITH_DENSITY = [name for name, entry in SAMPLERS.items() if entry.transition_density]

every_sampler = pytest.mark.parametrize("name", [name for name, entry in SAMPLERS.items() if entry.estimates_evidence])
every_density = pytest.mark.parametrize("name", WITH_DENSITY)


def tiny() -> Corpus:
    return oracle.tiny_corpus(DOCUMENTS, TERMS)


def moderate() -> Corpus:
    """300 tokens in 15 documents, with many repeated (document, term) pairs."""
    token = np.arange(300)
    return Corpus.from_counts(token % 15, token**2 % 13, np.ones(300, int), document_count=15, term_count=13)


def prior_for(name: str) -> Prior:
    """The grouped sampler's summand has a variance only where the prior's parameters exceed the counts."""
    return Prior((0.8, 1.5), 0.7) if name in (*WITH_DENSITY, PRIOR) else Prior((9.0, 12.0), 10.0)


@cache
def exact(name: str) -> oracle.Enumeration:
    return oracle.enumerate_all(tiny(), TOPICS, prior_for(name))


@cache
def repeats(name: str, inner: int, start: str, choose: str = "weighted") -> tuple[np.ndarray, np.ndarray]:
    """Many log-estimates, and the row of the enumeration that each z is."""
    rng = np.random.default_rng([inner, len(name)])
    options = {"inner": inner, "rng": rng, "sampler": name, "choose": choose}
    z_0 = START if start == "fixed" else start
    made = [estimate(tiny(), TOPICS, prior_for(name), start=z_0, **options) for _ in range(REPEATS)]
    rows = oracle.index_of(np.array([one.assignments for one in made]), TOPICS)
    return np.array([one.log_estimate for one in made]), rows


# -- the checks -------------------------------------------------------------------------------------


def check_means(columns: np.ndarray, expected: np.ndarray) -> None:
    """Independent rows with these means: normal by the central limit theorem, Bonferroni over the columns.

    Over 3000 runs from the exact law of `sparse` and one sweep, the largest of 15 |z| exceeded 4.16 in 0.1 % of them,
    as normal ones would (4.1): the priors are such that no weight is rare and large.
    """
    error = columns.std(axis=0, ddof=1) / np.sqrt(len(columns))
    statistic = np.abs(columns.mean(axis=0) - expected) / np.where(error > 0, error, 1e-12)
    bound = norm.isf(FALSE_ALARM / 2 / len(expected))
    assert statistic.max() < bound, f"largest |z| is {statistic.max():.1f}"


def check_unbiased(log_estimates: np.ndarray, log_evidence: float) -> None:
    check_means(np.exp(log_estimates - log_evidence)[:, None], np.ones(1))


def statistics(z: np.ndarray) -> np.ndarray:
    """What is compared of each row of z: which tokens are in topic 0, and which pairs are in the same topic."""
    first, second = np.triu_indices(z.shape[1], 1)
    return np.hstack([z == 0, z[:, first] == z[:, second]])


def check_law_of_z(log_estimates: np.ndarray, rows: np.ndarray, exact: oracle.Enumeration) -> None:
    """E[estimate f(z)] / m(T) is E[f(z) | w]."""
    weight, f = np.exp(log_estimates - exact.log_evidence), statistics(exact.assignments)
    check_means(weight[:, None] * f[rows], exact.posterior @ f)


# -- the law of the estimate ------------------------------------------------------------------------

CASES = [(1, "fixed"), (3, "uniform")]


@every_sampler
@pytest.mark.parametrize(("inner", "start"), CASES)
def test_the_estimate_is_unbiased(name: str, inner: int, start: str) -> None:
    check_unbiased(repeats(name, inner, start)[0], exact(name).log_evidence)


@every_sampler
@pytest.mark.parametrize(("inner", "start"), CASES)
def test_the_chosen_z_belongs_to_the_estimate(name: str, inner: int, start: str) -> None:
    check_law_of_z(*repeats(name, inner, start), exact(name))


@pytest.mark.parametrize("choose", ["weighted", "last"])
@pytest.mark.parametrize("name", ["sparse", "grouped"])
def test_of_several_from_one_start_either_choice_belongs_to_the_estimate(name: str, choose: str) -> None:
    """The first would not: it is still near z_0."""
    check_law_of_z(*repeats(name, 3, "fixed", choose), exact(name))


def test_the_prior_as_importance_distribution_is_unbiased_where_it_can_be_tried() -> None:
    """On tiny corpora: where it fails, it fails by its variance."""
    check_unbiased(repeats(PRIOR, 3, "uniform")[0], exact(PRIOR).log_evidence)
    check_law_of_z(*repeats(PRIOR, 3, "uniform"), exact(PRIOR))


def test_from_every_start_the_expectation_is_the_evidence() -> None:
    """No draws: E[p(w, z_1) / g(z_0, z_1)] = sum_z g p / g, over the support of g(z_0, .), which is everything."""
    module, all_z = sampler("sparse"), exact("sparse")
    for row in range(len(all_z.assignments)):
        log_g = np.array([module.transition_density(all_z.state(row), z) for z in all_z.assignments])
        assert_allclose(logsumexp(log_g + (all_z.log_joint - log_g)), all_z.log_evidence, rtol=1e-12)
        assert np.isfinite(log_g).all()


# -- the same, without chance -----------------------------------------------------------------------


@every_density
def test_a_summand_is_joint_over_transition(name: str) -> None:
    corpus, prior, rng = moderate(), Prior(0.2, 0.05), np.random.default_rng(1)
    start = rng.integers(4, size=300)
    result = estimate(corpus, 4, prior, inner=1, rng=rng, sampler=name, start=start)
    before, after = (from_assignments(corpus, 4, prior, z) for z in (start, result.assignments))
    log_g = sampler(name).transition_density(before, result.assignments)
    assert_allclose(result.log_estimate, log_joint(after) - log_g, rtol=1e-12)
    assert np.any(start != result.assignments)


def test_a_grouped_summand_is_made_of_dirichlet_densities() -> None:
    corpus, prior, start = tiny(), Prior((0.3, 1.2), 0.3), START
    result = estimate(corpus, 2, prior, inner=1, rng=np.random.default_rng(3), sampler="grouped", start=start)
    state = from_assignments(corpus, 2, prior, start)
    before = state.copy()
    parameters = sampler("grouped").sweep(state, np.random.default_rng(3)).parameters
    assert_array_equal(state.assignments, result.assignments)
    theta, beta = np.exp(parameters.log_theta), np.exp(parameters.log_beta)
    expected = np.log((theta @ beta.T)[corpus.documents, corpus.terms]).sum()
    for row, counts in zip(theta, before.document_topic, strict=True):
        expected += dirichlet.logpdf(row, state.alpha) - dirichlet.logpdf(row, state.alpha + counts)
    for column, counts in zip(beta.T, before.term_topic.T, strict=True):
        expected += dirichlet.logpdf(column, np.full(3, 0.3)) - dirichlet.logpdf(column, 0.3 + counts)
    assert_allclose(result.log_estimate, expected, rtol=1e-9)  # densities of numbers near 0 and 1


@every_sampler
def test_the_estimate_is_the_mean_of_its_summands(name: str) -> None:
    options = {"inner": 7, "sampler": name}
    made = [
        estimate(moderate(), 3, Prior(0.2, 0.05), rng=np.random.default_rng(2), choose=choose, **options)
        for choose in ("weighted", "last")
    ]
    for result in made:
        assert result.log_summands.shape == (7,)
        assert_allclose(result.log_estimate, logsumexp(result.log_summands) - np.log(7), rtol=1e-12)
    assert_array_equal(made[0].log_summands, made[1].log_summands)  # the choice of z changes nothing else


@every_density
def test_one_topic_has_its_evidence_in_closed_form(name: str) -> None:
    prior = Prior(0.2, 0.05)
    result = estimate(moderate(), 1, prior, inner=2, rng=np.random.default_rng(1), sampler=name)
    expected = log_joint(from_assignments(moderate(), 1, prior, np.zeros(300)))
    assert_allclose(result.log_summands, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "prior", [Prior(0.1, 0.01), Prior((0.1, 3.0, 0.1, 2.0), 0.5), Prior(SMALLEST, SMALLEST)], ids=str
)
def test_the_joint_from_tables(prior: Prior) -> None:
    corpus, rng = moderate(), np.random.default_rng(4)
    joint = Joint(corpus, random_start(corpus, 4, prior, rng))
    for _ in range(5):
        state = random_start(corpus, 4, prior, rng)
        assert_allclose(joint(state), log_joint(state), rtol=1e-12)
    empty = from_assignments(corpus, 4, prior, np.zeros(300))
    assert_allclose(joint(empty), log_joint(empty), rtol=1e-12)


@every_sampler
@pytest.mark.parametrize("prior", [Prior(SMALLEST, SMALLEST), Prior(LARGEST, LARGEST)], ids=str)
def test_the_estimate_stays_in_range(name: str, prior: Prior) -> None:
    result = estimate(moderate(), 3, prior, inner=5, rng=np.random.default_rng(5), sampler=name)
    assert np.isfinite(result.log_summands).all()


# -- side by side -----------------------------------------------------------------------------------


@cache
def repeats_together(inner: int, start: str, choose: str = "weighted") -> tuple[np.ndarray, np.ndarray]:
    """As `repeats`: the first five of six estimates at a time, of which the last has three topics."""
    prior, root = Prior(0.8, 0.7), np.random.default_rng(inner)
    z_0 = [START] * 6 if start == "fixed" else None
    made: list = []
    while len(made) < REPEATS:
        rngs = root.spawn(6)
        made += estimate_together(tiny(), [2] * 5 + [3], prior, inner=inner, rngs=rngs, start=z_0, choose=choose)[:5]
    rows = oracle.index_of(np.array([one.assignments for one in made]), TOPICS)
    return np.array([one.log_estimate for one in made]), rows


@pytest.mark.parametrize(("inner", "start", "choose"), [*((*case, "weighted") for case in CASES), (3, "fixed", "last")])
def test_estimates_side_by_side_are_exact(inner: int, start: str, choose: str) -> None:
    all_z = oracle.enumerate_all(tiny(), TOPICS, Prior(0.8, 0.7))
    found = repeats_together(inner, start, choose)
    check_unbiased(found[0], all_z.log_evidence)
    check_law_of_z(*found, all_z)


def test_a_joint_without_a_constant_is_refused_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """sum_d lG(T alpha) is left out."""
    right = Joint.__call__
    monkeypatch.setattr(Joint, "__call__", lambda self, state: right(self, state) - 3 * math.lgamma(1.6))
    repeats = repeats_together.__wrapped__(3, "uniform")[0]
    with pytest.raises(AssertionError, match="largest"):
        check_unbiased(repeats, oracle.enumerate_all(tiny(), TOPICS, Prior(0.8, 0.7)).log_evidence)


@pytest.mark.parametrize("prior", [Prior(0.2, 0.05), Prior((0.1, 3.0, 0.1, 2.0), 0.5)], ids=str)
def test_a_summand_side_by_side_is_joint_over_transition(prior: Prior) -> None:
    corpus, rng = moderate(), np.random.default_rng(1)
    sizes = [4] * 3 if np.ndim(prior.alpha) else [2, 4, 6]
    start = [rng.integers(topics, size=300) for topics in sizes]
    made = estimate_together(corpus, sizes, prior, inner=1, rngs=rng.spawn(3), start=start)
    for topics, z, result in zip(sizes, start, made, strict=True):
        before, after = (from_assignments(corpus, topics, prior, z) for z in (z, result.assignments))
        log_g = sampler("single-site").transition_density(before, result.assignments)
        assert_allclose(result.log_estimate, log_joint(after) - log_g, rtol=1e-12)


def test_which_z_is_chosen_side_by_side() -> None:
    """The sweeps again, with the same generators: the last z, or each with probability summand / total so far."""
    corpus, prior, inner = tiny(), Prior(0.8, 0.7), 4
    start, different = [START] * 8, 0
    for seed in range(20):
        made = {}
        for choose in ("last", "weighted"):
            rngs = np.random.default_rng(seed).spawn(8)
            made[choose] = estimate_together(corpus, [2] * 8, prior, inner=inner, rngs=rngs, start=start, choose=choose)
        state, rngs = lanes.init(corpus, [2] * 8, prior, start), np.random.default_rng(seed).spawn(8)
        kept = [START] * 8
        for step in range(inner):
            drawn = [(new_words(rng), rng.random()) for rng in rngs]
            lanes.sweep(state, np.stack([words for words, _ in drawn], axis=1))
            for chain, (_, uniform) in enumerate(drawn):
                summands = made["weighted"][chain].log_summands
                if uniform < np.exp(summands[step] - logsumexp(summands[: step + 1])):
                    kept[chain] = state.assignments[:, chain].copy()
        for chain in range(8):
            assert_array_equal(made["last"][chain].assignments, state.assignments[:, chain])
            assert_array_equal(made["weighted"][chain].assignments, kept[chain])
            different += bool(np.any(kept[chain] != state.assignments[:, chain]))
    assert different > 40


def test_an_estimate_does_not_depend_on_those_beside_it() -> None:
    estimates = Estimates(moderate(), Prior(0.3, 0.2), Inner(4), seed=5)
    keys = [(3, 7, "a"), (9, 0, "a"), (2, 1, "b"), (3, 8, "a")]
    for key, result in zip(keys, estimates.make_all(keys), strict=True):
        alone = estimates.make(*key)
        assert_array_equal(result.log_summands, alone.log_summands)
        assert_array_equal(result.assignments, alone.assignments)
        assert_allclose(result.log_estimate, logsumexp(result.log_summands) - np.log(4), rtol=1e-12)


# -- negative controls ------------------------------------------------------------------------------


def test_a_joint_without_a_constant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """sum_d lG(T alpha) is left out."""
    constant = 3 * math.lgamma(0.8 + 1.5)
    right = Joint.__call__
    monkeypatch.setattr(Joint, "__call__", lambda self, state: right(self, state) - constant)
    rng = np.random.default_rng(6)
    made = [estimate(tiny(), 2, prior_for("sparse"), inner=3, rng=rng).log_estimate for _ in range(REPEATS)]
    with pytest.raises(AssertionError, match="largest"):
        check_unbiased(np.array(made), exact("sparse").log_evidence)


def test_the_first_z_does_not_belong_to_the_estimate() -> None:
    rng, log_estimates, rows = np.random.default_rng(7), [], []
    for _ in range(REPEATS):
        first = estimate(tiny(), TOPICS, prior_for("sparse"), inner=1, rng=rng, start=START)
        rest = estimate(tiny(), TOPICS, prior_for("sparse"), inner=2, rng=rng, start=first.assignments)
        log_estimates.append(logsumexp([*first.log_summands, *rest.log_summands]) - np.log(3))
        rows.append(oracle.index_of(first.assignments, TOPICS))
    check_unbiased(np.array(log_estimates), exact("sparse").log_evidence)
    with pytest.raises(AssertionError, match="largest"):
        check_law_of_z(np.array(log_estimates), np.array(rows), exact("sparse"))


def test_a_z_without_its_weight_is_refused() -> None:
    _, rows = repeats("sparse", 1, "fixed")
    with pytest.raises(AssertionError, match="largest"):
        check_law_of_z(np.full(len(rows), exact("sparse").log_evidence), rows, exact("sparse"))


# -- numbered estimates -----------------------------------------------------------------------------


def test_a_stream_a_number_and_the_topics_decide_an_estimate() -> None:
    estimates = Estimates(moderate(), Prior(), Inner(2), seed=5)
    first = estimates.make(3, 7, "a").log_estimate
    assert first == Estimates(moderate(), Prior(), Inner(2), seed=5).make(3, 7, "a").log_estimate
    others = [estimates.make(*key).log_estimate for key in ((3, 8, "a"), (4, 7, "a"), (3, 7, "b"))]
    others.append(Estimates(moderate(), Prior(), Inner(2), seed=6).make(3, 7, "a").log_estimate)
    assert len({first, *others}) == 5


def test_a_pilot_is_one_start_for_each_number_of_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    monkeypatch.setattr(pseudo_marginal, "estimate_together", lambda *_, start, **__: starts.append(start[0]) or [None])
    estimates = Estimates(moderate(), Prior(), Inner(2, start="pilot", pilot_sweeps=20), seed=5)
    for topics, number, stream in ((3, 0, "a"), (3, 1, "b"), (4, 0, "a")):
        estimates.make(topics, number, stream)
    assert_array_equal(starts[0], starts[1])
    assert starts[2].max() == 3
    again = Estimates(moderate(), Prior(), Inner(2, start="pilot", pilot_sweeps=20), seed=5)
    again.make(3, 9)
    assert_array_equal(starts[0], starts[3])


def test_an_estimate_leaves_its_start_alone() -> None:
    start = np.zeros(300, np.int32)
    estimate(moderate(), 3, Prior(), inner=2, rng=np.random.default_rng(1), start=start)
    assert not start.any()


def test_the_prior_takes_no_pilot() -> None:
    with pytest.raises(InputError, match="no start"):
        Inner(1, sampler=PRIOR, start="pilot")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inner": 0}, "at least one inner sweep"),
        ({"choose": "best"}, "choose from weighted, last"),
        ({"start": "pilot"}, "'uniform' z or at a given one"),
        ({"sampler": "gibbs"}, "unknown sampler"),
    ],
)
def test_bad_input(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimate(tiny(), 2, Prior(), **{"inner": 1, "rng": np.random.default_rng(1)} | options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"inner": 0}, InputError),
        ({"choose": "best"}, InputError),
        ({"topics": [2, 0]}, InputError),
        ({"start": [START, START + 2]}, ValueError),  # a topic that only its neighbour has
        ({"start": [START, START[:1]]}, ValueError),
    ],
    ids=str,
)
def test_bad_input_side_by_side(options: dict, error: type) -> None:
    given = {"topics": [4, 2], "inner": 1, "rngs": np.random.default_rng(1).spawn(2)} | options
    with pytest.raises(error):
        estimate_together(tiny(), given.pop("topics"), Prior(), **given)


@pytest.mark.parametrize("options", [{"sweeps": 0}, {"start": "end"}, {"choose": "best"}, {"sampler": "gibbs"}])
def test_bad_input_is_refused_before_the_work(options: dict) -> None:
    with pytest.raises(InputError):
        Inner(**options)
