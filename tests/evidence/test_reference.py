"""Evidence from a fitted reference against enumeration: unbiased whatever the reference, its labelling counted once."""

import numpy as np
import pytest

import oracle
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import reference
from bayestopics.evidence.reference import Path, Reference, anneal, anneal_backward, fit, pairs_of, start
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments

LIMIT = 4.9  # standard errors: two-sided false-alarm rate 1e-6
CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
CASES = [
    pytest.param(2, Prior(0.4, 0.3), id="2 topics"),
    pytest.param(3, Prior((0.2, 0.5, 1.3), 0.3), id="3 topics, asymmetric"),
    pytest.param(3, Prior(0.3, 0.2), id="3 topics"),
]


def a_reference(topics: int, prior: Prior, seed: int = 1) -> Reference:
    """From a few sweeps, so that it prefers one labelling."""
    rng = np.random.default_rng(seed)
    start = from_assignments(CORPUS, topics, prior, rng.integers(topics, size=CORPUS.token_count))
    return fit(CORPUS, start, 21, rng)


def estimates(topics: int, prior: Prior, ladder: np.ndarray, many: int = 3000) -> np.ndarray:
    ours, rng, logs = a_reference(topics, prior), np.random.default_rng(2), []
    for _ in range(many):
        path, log_share = start(CORPUS, topics, prior, ours, rng)
        logs.append(log_share + anneal(path, ladder, rng))
    return np.array(logs)


@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_unbiased(topics, prior):
    exact = oracle.enumerate_all(CORPUS, topics, prior).log_evidence
    oracle.check_unbiased(estimates(topics, prior, np.linspace(0, 1, 5)), exact)


@pytest.mark.parametrize("documents", [[[0]], [[0, 0]], [[0, 0, 1], [1, 2], []]])
@pytest.mark.parametrize("topics", [1, 2, 3, 4])
def test_the_region_has_one_labelling_of_everything(documents, topics):
    """Summed over the region, p(w, z) T! / (empty topics)! is m(T): no ties, whatever the reference. Deterministic."""
    corpus, rng = oracle.tiny_corpus(documents, 3), np.random.default_rng(7)
    for prior in (Prior(0.01, 0.01), Prior(0.3, 0.2), Prior(0.1, 2.0), Prior(5.0, 5.0)):
        exact = oracle.enumerate_all(corpus, topics, prior)
        z = rng.integers(topics, size=corpus.token_count)
        ours = fit(corpus, from_assignments(corpus, topics, prior, z), 21, rng)
        states = [exact.state(row) for row in range(len(exact.posterior))]
        counted = [
            np.exp(reference.log_labellings(Path(s, ours))) if ours.likes(s.assignments) else 0.0 for s in states
        ]
        assert np.sum(exact.posterior * counted) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("topics", "prior"), CASES)
def test_backward_from_posterior_draws(topics, prior):
    """E[1 / weight] is the share of the reference's own draws that are in the region, over m(T)."""
    exact, ours, rng = oracle.enumerate_all(CORPUS, topics, prior), a_reference(topics, prior), np.random.default_rng(3)
    ladder, ratios = np.linspace(0, 1, 5), []
    for row in rng.choice(len(exact.posterior), size=3000, p=exact.posterior):
        z = exact.state(row).assignments
        if ours.symmetric:
            z = ours.names(z)[z]
            assert ours.likes(z)
        path = Path(from_assignments(CORPUS, topics, prior, z), ours)
        ratios.append(np.exp(exact.log_evidence - anneal_backward(path, ladder, rng)))
    draws = np.array([ours.likes(ours.draw(rng)) for _ in range(20_000)])
    error = np.hypot(np.std(ratios) / np.sqrt(len(ratios)), draws.std() / np.sqrt(len(draws)))
    assert abs(np.mean(ratios) - draws.mean()) < LIMIT * error


@pytest.mark.parametrize("fault", ["no region", "no empty topics", "no labellings"])
def test_faults_are_caught(monkeypatch, fault):
    """With four topics and a large eta several are often empty."""
    topics, prior = (4, Prior(0.1, 2.0)) if fault == "no empty topics" else (3, Prior(0.3, 0.2))
    if fault == "no region":
        monkeypatch.setattr(Reference, "likes", lambda self, assignments: True)
    else:
        log_labellings = {"no empty topics": np.log(24.0), "no labellings": 0.0}[fault]
        monkeypatch.setattr(reference, "log_labellings", lambda path: log_labellings)
    found = estimates(topics, prior, np.linspace(0, 1, 5))
    with pytest.raises(AssertionError, match="standard errors off"):
        oracle.check_unbiased(found, oracle.enumerate_all(CORPUS, topics, prior).log_evidence)


def mixed(prior: Prior) -> np.ndarray:
    """Whole estimates with more topics than the corpus calls for: names do not hold."""
    rng = np.random.default_rng(8)
    return np.array([reference.repeat(CORPUS, 4, prior, 4, rng) for _ in range(400)])


@pytest.mark.parametrize("wrong", [False, True])
def test_where_names_do_not_hold_half_of_the_estimate_comes_from_the_prior(monkeypatch, wrong):
    """It is unbiased; half a nat too much in that half is caught."""
    prior, right, calls = Prior(0.3, 0.4), reference.anneal_from_prior, []
    monkeypatch.setattr(reference, "anneal_from_prior", lambda *of: calls.append(1) or right(*of) + 0.5 * wrong)
    found, exact = mixed(prior), oracle.enumerate_all(CORPUS, 4, prior).log_evidence
    assert len(calls) > 200
    if wrong:
        with pytest.raises(AssertionError, match="standard errors off"):
            oracle.check_unbiased(found, exact)
    else:
        oracle.check_unbiased(found, exact)


def test_that_half_scatters_less(monkeypatch):
    """48 tokens, 8 topics: nearly all sweeps are refused. The deviations are about 0.8 and 5.7; a ratio of 3 comes by
    chance once in 1e5 if they are equal."""
    law = {"documents": 6, "length": 8, "terms": 5, "topics": 2, "alpha": 0.5, "eta": 0.5}
    corpus, deviations = simulate_lda(**law, rng=np.random.default_rng(1)).corpus, []
    for often in (reference.OFTEN, 1.0):
        monkeypatch.setattr(reference, "OFTEN", often)
        rng = np.random.default_rng(9)
        deviations.append(np.std([reference.repeat(corpus, 8, Prior(0.5, 0.5), 100, rng) for _ in range(20)]))
    assert deviations[0] < deviations[1] / 3


@pytest.mark.parametrize("b", [0.0, 0.4, 1.0])
def test_sweeps_have_their_law(b):
    """Shares of sweeps at each assignment of the region against q^(1-b) p^b there; batch means, Bonferroni."""
    topics, prior = 2, Prior(0.3, 0.3)
    ours, rng, sweeps, batches = a_reference(topics, prior), np.random.default_rng(4), 20_000, 100
    z = oracle.all_assignments(CORPUS.token_count, topics)
    states = [from_assignments(CORPUS, topics, prior, row) for row in z]
    log_law = [(1 - b) * ours.log_density(s.assignments) + b * log_joint(s) for s in states]
    law = np.exp(log_law) * [ours.likes(s.assignments) for s in states]
    law /= law.sum()
    path = Path(states[int(law.argmax())].copy(), ours)
    visits = np.empty(sweeps, int)
    for i in range(sweeps):
        path.sweep(b, rng)
        visits[i] = oracle.index_of(path.state.assignments, topics)
    shares = (visits[:, None] == np.arange(len(law))).reshape(batches, -1, len(law)).mean(axis=1)
    error = shares.std(axis=0, ddof=1) / np.sqrt(batches)
    assert np.all(shares[:, law == 0] == 0)
    assert np.abs((shares.mean(axis=0) - law)[law > 0] / error[law > 0]).max() < 5.9  # Student t, 99 degrees: 1e-6
    assert path.refused > 0
    assert path.log_ratio == pytest.approx(log_joint(path.state) - ours.log_density(path.state.assignments), abs=1e-8)


@pytest.mark.parametrize(("inside", "all_tries"), [(10, 1000), (2, 3)])
def test_the_share_of_draws_in_the_region_is_unbiased(monkeypatch, inside, all_tries):
    monkeypatch.setattr(reference, "INSIDE", inside)
    monkeypatch.setattr(reference, "ALL", all_tries)
    prior, rng = Prior(0.3, 0.2), np.random.default_rng(6)
    ours = a_reference(3, prior)
    plain = np.mean([ours.likes(ours.draw(rng)) for _ in range(20_000)])
    shares = np.exp([start(CORPUS, 3, prior, ours, rng)[1] for _ in range(3000)])
    error = np.hypot(shares.std() / np.sqrt(3000), np.sqrt(plain * (1 - plain) / 20_000))
    assert abs(shares.mean() - plain) < LIMIT * error
    assert 0.05 < plain < 0.95


def test_pairs_and_shares():
    assert pairs_of(CORPUS).tolist() == [0, 0, 1, 2, 3]
    ours = a_reference(3, Prior(0.3, 0.2))
    shares = np.exp(ours.log_shares.astype(float) - ours.log_sums[:, None])
    assert shares.shape == (4, 3)
    assert np.allclose(np.exp(ours.log_sums), 1, atol=1e-6)
    rng = np.random.default_rng(5)
    draws = np.array([ours.draw(rng) for _ in range(20_000)])
    found = np.mean(draws == 1, axis=0)
    law = shares[ours.pairs, 1]
    assert np.abs((found - law) / np.sqrt(law * (1 - law) / len(draws))).max() < 5.3  # 5 of them: 1e-6
