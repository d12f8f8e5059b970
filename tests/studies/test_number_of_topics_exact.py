"""The study of the number of topics on corpora whose truth is known: chains against enumeration, and bounds."""

from itertools import product

import numpy as np
import pytest
from test_number_of_topics import PRIOR, run

from bayestopics.base.processes import using_threads
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.errors import mcse
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda import sampler
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import same_bits
from bayestopics.studies.number_of_topics import compute_bounds, compute_evidence, compute_exact, tables
from killing import Killed, Killing

BOUNDS = {"topics": [3, 4], "expected_topics": 4, "steps": 20, "repeats": 2}


@pytest.fixture(autouse=True)
def one_thread():
    """One thread, and so no worker processes."""
    with using_threads(1):
        yield


def tiny() -> Corpus:
    law = {"documents": 2, "length": 2, "terms": 3, "topics": 2, "alpha": 0.5, "eta": 0.5}
    return simulate_lda(**law, rng=np.random.default_rng(2)).corpus


def test_exact_posterior_and_chains(tmp_path):
    one = run("exact", inner=[2], most=3, iterations=500)
    record = compute_exact.compute(one, tiny(), Checkpoint(tmp_path, one))
    for is_refreshed, table in record.tables["law"].groupby("refreshed"):
        assert table["exact"].sum() == pytest.approx(1)
        assert table["share"].sum() == pytest.approx(1)
        key = "largest_score" + "_refreshed" * is_refreshed
        assert record.metrics[key] == pytest.approx(table["score"].abs().max())


def law_of_estimates(topics: int, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """All values of an estimate with one sweep from a uniform z_0, and their probabilities."""
    corpus, module = tiny(), sampler("single-site")
    every = list(product(range(topics), repeat=corpus.token_count))
    states = [from_assignments(corpus, topics, prior, np.array(z)) for z in every]
    log_g = np.array([[module.transition_density(state, np.array(z)) for z in every] for state in states])
    joints = np.exp([log_joint(state) for state in states])
    return (joints / np.exp(log_g)).ravel(), np.exp(log_g).ravel() / len(every)


def test_a_chain_that_refreshes_its_estimates_has_another_law():
    """Its stationary law from the exact law of its estimates, for m = 1; the posterior fails the same check."""
    prior, steps, over = Prior(**PRIOR), 20_000, TopicPrior(1, 3)
    laws = [law_of_estimates(t, prior) for t in (1, 2, 3)]
    moves = np.zeros((3, 3))
    for here, there, forward, back in ((0, 1, 1.0, 0.5), (1, 0, 0.5, 1.0), (1, 2, 0.5, 1.0), (2, 1, 1.0, 0.5)):
        (now, now_p), (new, new_p) = laws[here], laws[there]
        accepted = np.minimum(1.0, new[None, :] * back / (now[:, None] * forward))
        moves[here, there] = forward * (now_p @ accepted @ new_p)
    moves += np.diag(1 - moves.sum(axis=1))
    stationary = np.linalg.matrix_power(moves, 2**20)[0]
    visits = compute_exact.refreshed(tiny(), prior, over, Inner(1), steps, seed=1)
    shares = (visits[:, None] == np.arange(1, 4)).astype(float)
    errors = mcse(shares)
    assert (abs(shares.mean(axis=0) - stationary) < 4.9 * errors).all()
    posterior = compute_exact.exact_posterior(tiny(), prior, [1, 2, 3])
    assert (abs(shares.mean(axis=0) - posterior) > 4.9 * errors).any()


def test_bounds_are_on_both_sides(tmp_path):
    corpus = Registry().load("tiny-lda")
    one = run("bounds", corpus="tiny-lda", **BOUNDS)
    whole = compute_bounds.compute(one, corpus, Checkpoint(tmp_path / "whole", one))
    table = whole.tables["estimates"]
    assert table.groupby(["side", "topics"]).size().to_dict() == {("above", 4): 2, ("below", 3): 2, ("below", 4): 2}
    row = tables.bounds_table([whole]).iloc[0]
    assert row["from_below"] < row["from_above"]
    for _ in range(3):
        with pytest.raises(Killed):
            compute_bounds.compute(one, corpus, Killing(tmp_path / "pieces", one, every_seconds=0))
    assert same_bits(whole, compute_bounds.compute(one, corpus, Checkpoint(tmp_path / "pieces", one)))


def test_the_normalised_direct_estimator_is_the_exact_posterior_with_long_estimates(tmp_path):
    """(4.11) is consistent, as a ratio of means is: 200 repeats with m = 100; its bias is of order 1 / m."""
    one = run("evidence", method="pseudo-marginal", topics=[1, 2, 3], sweeps=100, repeats=200)
    estimates = compute_evidence.compute(one, tiny(), Checkpoint(tmp_path, one)).tables["estimates"]
    found = tables.posteriors(estimates)
    exact = compute_exact.exact_posterior(tiny(), Prior(**PRIOR), [1, 2, 3])
    error = found.std() / np.sqrt(len(found))
    assert found.shape == (200, 3)
    assert found.sum(axis=1).to_numpy() == pytest.approx(1)
    assert (abs(found.mean() - exact) < 4.9 * error + 1e-3).all()
    assert error.max() < 0.005  # small enough for the test to mean something
    tilted = estimates["log_estimate"] + 0.3 * estimates["topics"]  # like leaving out a constant that depends on T
    wrong = tables.posteriors(estimates.assign(log_estimate=tilted))
    assert not (abs(wrong.mean() - exact) < 4.9 * error + 1e-3).all()
