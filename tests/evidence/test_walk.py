"""The walk over T that looks for good topics: it changes no expectation, and finds what a single annealing misses."""

from itertools import combinations

import numpy as np
import pytest

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import compute, reference, walk
from bayestopics.evidence.compute import evidence
from bayestopics.evidence.walk import FoundTopics, _Trials, go_over, merging_costs
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
PRIOR = Prior(0.3, 0.2)
MILD = Prior(1.0, 1.0)  # estimates scatter little, so that a small bias shows
SIMULATED = simulate_lda(
    documents=40, length=600, terms=50, topics=5, alpha=0.05, eta=0.02, rng=np.random.default_rng(1)
)
TRUTH = np.asarray(SIMULATED.truth["assignments"])
SIMULATED_PRIOR = Prior(0.05, 0.02)


def trials(seed: int = 0, short: int = 20) -> _Trials:
    return _Trials(SIMULATED.corpus, SIMULATED_PRIOR, short, np.random.default_rng(seed))


def simulated_state(assignments, topics):
    return from_assignments(SIMULATED.corpus, topics, SIMULATED_PRIOR, assignments)


def tiny_estimates(repeats: int, start: np.ndarray | None = None) -> dict[int, np.ndarray]:
    found = evidence(CORPUS, [2, 3], MILD, sweeps=5, passes=2, repeats=repeats, seed=5, start=start)
    return dict(zip(found["topics"], map(np.array, found["log_estimates"]), strict=True))


@pytest.fixture(scope="module")
def estimates():
    return tiny_estimates(300)


def test_estimates_after_a_walk_are_unbiased(estimates):
    for topics, logs in estimates.items():
        oracle.check_unbiased(logs, oracle.enumerate_all(CORPUS, topics, MILD).log_evidence)


def test_estimates_from_given_topics_are_unbiased():
    """Two poor starts, one of them with a gap in its topics."""
    start = np.zeros((2, CORPUS.token_count), np.int32)
    start[1, -1] = 3
    for topics, logs in tiny_estimates(200, start).items():
        oracle.check_unbiased(logs, oracle.enumerate_all(CORPUS, topics, MILD).log_evidence)


def test_the_search_begins_with_given_topics():
    """The numbers of the topics do not matter, nor gaps between them; one T more or less changes one topic."""
    given = np.array([7, 0, 9, 4, 2])[TRUTH]
    same = trials().first(5, 10, given)
    assert len({*zip(same.tolist(), TRUTH.tolist(), strict=True)}) == len(np.unique(TRUTH)) == 5
    for topics in (4, 6):
        pairs = {*zip(trials().first(topics, 10, given).tolist(), TRUTH.tolist(), strict=True)}
        assert len(pairs) == max(topics, 5)


def test_repeats_take_the_given_topics_in_turn(monkeypatch):
    taken = []
    monkeypatch.setattr(compute, "go_over", lambda *of: taken.append((of[4], of[7].tolist())) or of[5])
    monkeypatch.setattr(compute, "_make", lambda work, job, found: (0.0, 0.0))
    monkeypatch.setattr(compute, "compile_estimator", lambda name: None)
    start = np.arange(2 * CORPUS.token_count).reshape(2, -1) % 3
    evidence(CORPUS, [2], MILD, sweeps=5, passes=2, repeats=3, start=start)
    assert sorted(taken) == sorted((number, start[row].tolist()) for row in (0, 1, 0) for number in (0, 1))


@pytest.mark.parametrize(
    ("start", "how", "message"),
    [
        (np.zeros((1, 3), int), {}, "one column for each of the"),
        (np.zeros(CORPUS.token_count, int), {}, "one row per chain"),
        (np.zeros((1, CORPUS.token_count)), {}, "must be integers"),
        (np.zeros((1, CORPUS.token_count), int), {"path": "ais"}, "only annealing from a reference"),
        (np.zeros((1, CORPUS.token_count), int), {"method": "chib"}, "only annealing from a reference"),
    ],
)
def test_a_start_that_cannot_be_used_is_refused(start, how, message):
    with pytest.raises(InputError, match=message):
        evidence(CORPUS, [2], MILD, sweeps=2, repeats=1, start=start, **how)


@pytest.mark.parametrize("fault", ["labellings are not counted", "the largest of three estimates"])
def test_a_fault_is_caught(monkeypatch, fault, estimates):
    logs = estimates[2].reshape(-1, 3).max(axis=1)
    if fault == "labellings are not counted":
        monkeypatch.setattr(reference, "log_labellings", lambda path: 0.0)
        logs = tiny_estimates(100)[2]
    with pytest.raises(AssertionError, match="standard errors off"):
        oracle.check_unbiased(logs, oracle.enumerate_all(CORPUS, 2, MILD).log_evidence)


@pytest.mark.parametrize("prior", [PRIOR, Prior(1e-3, 1e-3)])
def test_merging_costs_are_those_of_the_density(prior):
    """Every term from `log_joint` alone: the two states, and each token's choice between the two topics, of which one
    may be a million times as likely as the other."""
    corpus, rng = oracle.random_corpus(np.random.default_rng(3), 12, 3, 4), np.random.default_rng(4)
    z = rng.integers(3, size=corpus.token_count)
    state = from_assignments(corpus, 4, prior, z)  # the last topic is empty
    costs = merging_costs(state)
    for s, t in combinations(range(4), 2):
        expected = log_joint(state) - log_joint(from_assignments(corpus, 4, prior, np.where(z == t, s, z)))
        for token in np.flatnonzero((z == s) | (z == t)):
            logs = []
            for topic in (s, t):
                moved = z.copy()
                moved[token] = topic
                logs.append(log_joint(from_assignments(corpus, 4, prior, moved)))
            shares = np.exp(logs - np.logaddexp(*logs))
            expected -= float(np.sum(shares * np.log(shares)))
        assert costs[s, t] == pytest.approx(expected, abs=1e-9)


def test_splits_and_merges_change_one_topic():
    state = simulated_state(TRUTH, 5)
    more = trials().neighbour(state, 6)
    assert more.topics == 6
    moved = more.assignments != TRUTH
    assert len(np.unique(TRUTH[moved])) == 1
    assert np.all(more.assignments[moved] == 5)
    assert np.all(more.topic_total > 0)
    less = trials().neighbour(state, 4)
    assert less.topics == 4
    together = {tuple(pair) for pair in np.stack([TRUTH, less.assignments], axis=1).tolist()}
    assert len(together) == 5  # each topic as a whole, two of them to one
    assert trials().neighbour(state, 2).topics == 2
    assert np.array_equal(state.assignments, TRUTH)


def test_topics_that_are_not_needed_are_merged_first(monkeypatch):
    """One true topic is in two by chance: merged, they are the truth again."""
    monkeypatch.setattr(walk, "WEAKEST", 1e-9)  # always the weakest pair
    rng = np.random.default_rng(6)
    doubled = np.where((TRUTH == 2) & (rng.random(len(TRUTH)) < 0.5), 5, TRUTH)
    assert np.array_equal(trials().neighbour(simulated_state(doubled, 6), 5).assignments, TRUTH)


@pytest.mark.parametrize("walking", [True, False], ids=["with neighbours", "without: it stays as it is"])
def test_a_neighbour_mends_a_poor_one(monkeypatch, walking):
    """T = 5 has got stuck, with two of its topics in one and one in two; T = 6 has the truth, and one topic more."""
    rng = np.random.default_rng(7)
    poor = np.where((TRUTH == 3) & (rng.random(len(TRUTH)) < 0.5), 1, np.where(TRUTH == 1, 0, TRUTH))
    good = np.where((TRUTH == 2) & (rng.random(len(TRUTH)) < 0.5), 5, TRUTH)
    found = {5: FoundTopics(5, poor), 6: FoundTopics(6, good)}
    if not walking:
        monkeypatch.setattr(_Trials, "neighbour", lambda self, state, topics: self.state(found[topics]))
    after = go_over(SIMULATED.corpus, [5, 6], SIMULATED_PRIOR, 200, 2, found, np.random.default_rng(9))[5].score
    truth = trials(8).score(simulated_state(TRUTH, 5))
    assert (after > truth - walk.NEAR) == walking
    assert walking or after < truth - 1000


@pytest.mark.parametrize(
    ("scores", "taken", "times"),
    [
        pytest.param([-100.0, 0.0], False, 1, id="far below: one look"),
        pytest.param([100.0, 0.0, 100.0, 100.0], True, 3, id="above: three"),
        pytest.param([10.0, 0.0, -40.0], False, 1, id="a lucky first score is not enough"),
    ],
)
def test_the_better_one_stays(monkeypatch, scores, taken, times):
    """The scores of the new z, of the best so far, and of the new one again as long as it is near."""
    given = iter(scores)
    monkeypatch.setattr(_Trials, "score", lambda self, state: next(given))
    best = FoundTopics(5, TRUTH)
    trials().compare(best, simulated_state(np.zeros_like(TRUTH), 5))
    assert next(given, None) is None
    assert np.array_equal(best.assignments, np.zeros_like(TRUTH)) == taken
    assert best.times == times


def test_a_score_is_nearer_than_each_way():
    """From below and from above by short ladders, beside a long one on which little work is lost. Topics overlap."""
    law = {"documents": 60, "length": 60, "terms": 50, "topics": 5, "alpha": 0.1, "eta": 0.3}
    simulated, prior = simulate_lda(**law, rng=np.random.default_rng(1)), Prior(0.1, 0.3)
    truth = from_assignments(simulated.corpus, 5, prior, simulated.truth["assignments"])
    both = []
    for steps, repeats in ((20, 40), (1000, 4)):
        here = _Trials(simulated.corpus, prior, steps, np.random.default_rng(2))
        both.append(np.mean([here.ways(truth.copy()) for _ in range(repeats)], axis=0))
    (below, above), long = both[0], both[1].mean()
    assert below < long - 10  # standard errors are about 1
    assert above > long + 10
    assert abs((below + above) / 2 - long) < 5


def test_a_score_is_the_evidence_where_all_is_near():
    """Against enumeration, with labellings and the share of the region counted, from draws of the posterior."""
    exact, rng = oracle.enumerate_all(CORPUS, 3, PRIOR), np.random.default_rng(11)
    rows = rng.choice(len(exact.posterior), size=200, p=exact.posterior)
    here = _Trials(CORPUS, PRIOR, 100, np.random.default_rng(10))
    scores = np.array([here.score(exact.state(row)) for row in rows])
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    assert abs(scores.mean() - exact.log_evidence) < 5 * error + 0.02  # what is lost of higher order
    assert error < 0.05


def test_the_way_back_starts_in_the_region(monkeypatch):
    """Or its sweeps would be refused: from a z with other names than those of the reference as well."""
    starts = []
    backward = reference.anneal_backward
    monkeypatch.setattr(
        reference,
        "anneal_backward",
        lambda path, *given: (starts.append(path.reference.likes(path.state.assignments)), backward(path, *given))[1],
    )
    here = trials(12)
    for seed in range(20):
        here.ways(simulated_state(np.random.default_rng(seed).integers(20, size=len(TRUTH)), 20))
    assert all(starts)
