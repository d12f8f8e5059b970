"""The truncation-free DP mixture: its local law by enumeration, its updates by recursion, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, logsumexp

import variational_oracle as oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_dp_mixture
from bayestopics.nonparametric import dp_truncation_free
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_mixture import collapsed, plug_in
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture, draw_batch
from bayestopics.nonparametric.stream import Bags, minibatches

ETA, A = 0.4, 0.7
DOCUMENTS = np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0], [0, 2, 0]])


def components_of(sizes: list[float], excess: np.ndarray) -> Components:
    components = Components(excess.shape[0], ETA, len(sizes))
    components.stored[:], components.sizes[:], components.totals[:] = excess / 0.5, sizes, excess.sum(axis=0)
    components.weight = 0.5
    return components


def two_components() -> tuple[Components, oracle.Q]:
    """The second is the larger: it is first on the stick, and number 0 in the enumeration."""
    excess = np.array([[2.5, 0.3], [0.0, 4.0], [0.7, 0.0]])
    sizes = [1.2, 2.5]
    u, v = 1 + np.array(sizes[::-1]), A + np.array([sizes[0], 0.0])
    return components_of(sizes, excess), oracle.Q(excess.T[::-1] + ETA, u, v, ETA, A)


def draws(components: Components, documents: np.ndarray, sweeps: int, count: int, fresh: int = 0) -> list:
    rng = np.random.default_rng(1)
    bags = Bags.of(documents, documents.shape[1])
    swap = np.array([1, 0]) if components.count else np.empty(0, int)
    result = []
    for _ in range(count):
        z = draw_batch(components, A, bags, sweeps, rng, fresh)
        old = z < components.count
        z[old] = swap[z[old]]
        result.append(oracle.canonical(z, components.count))
    return result


def test_one_document_has_the_closed_form() -> None:
    components, q = two_components()
    for document in DOCUMENTS:
        law = oracle.normalised(oracle.dp_law(q, document[None]))
        assert oracle.p_value(draws(components, document[None], 0, 2000), law) > oracle.FALSE_ALARM


def test_a_batch_has_the_law_of_the_enumeration() -> None:
    components, q = two_components()
    law = oracle.normalised(oracle.dp_law(q, DOCUMENTS[:3]))
    assert len(law) == 37
    drawn = draws(components, DOCUMENTS[:3], 10, 10_000)
    assert oracle.p_value(drawn, law) > oracle.FALSE_ALARM
    # controls: documents drawn independently, and new components that keep their place on the stick
    apart = [oracle.normalised(oracle.dp_law(q, document[None])) for document in DOCUMENTS[:3]]
    factorised = {z: np.prod([law[(min(k, 2),)] for law, k in zip(apart, z, strict=True)]) for z in law}
    total = sum(factorised.values())
    assert oracle.p_value(drawn, {z: p / total for z, p in factorised.items()}) < oracle.FALSE_ALARM
    assert oracle.p_value(drawn, oracle.normalised(labelled_law(q))) < oracle.FALSE_ALARM


def test_a_start_from_new_components_leads_to_the_same_law() -> None:
    """Without sweeps enough to forget the start it does not."""
    components, q = two_components()
    law = oracle.normalised(oracle.dp_law(q, DOCUMENTS[:3]))
    assert oracle.p_value(draws(components, DOCUMENTS[:3], 20, 4000, fresh=3), law) > oracle.FALSE_ALARM
    assert oracle.p_value(draws(components, DOCUMENTS[:3], 0, 4000, fresh=3), law) < oracle.FALSE_ALARM


def labelled_law(q: oracle.Q) -> dict:
    """A wrong distribution, in which the j-th new component is the j-th of the prior's sticks."""
    law = oracle.dp_law(q, DOCUMENTS[:3])
    for z in law:
        new = np.bincount(z, minlength=2)[2:]
        after = np.append(np.cumsum(new[::-1])[::-1], 0)[1:]
        without = oracle.log_sticks(oracle.prior_only(3, ETA, A), new)
        law[z] += np.sum(betaln(1 + new, A + after) - betaln(1, A)) - without
    return law


@pytest.mark.parametrize("room", [1, 16])
def test_from_nothing_it_is_the_posterior_of_the_dp_mixture(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 15 set partitions of four documents; with little room, the arrays grow in the middle of a sweep."""
    monkeypatch.setattr(dp_truncation_free, "ROOM", room)
    law = oracle.normalised(oracle.dp_law(oracle.prior_only(3, ETA, A), DOCUMENTS))
    drawn = draws(Components(3, ETA), DOCUMENTS, 10, 5_000)
    assert oracle.p_value(drawn, law) > oracle.FALSE_ALARM


def test_long_documents_do_not_overflow() -> None:
    components = components_of([1e6], np.full((3, 1), 1e9))
    document = np.array([[400, 0, 900]])
    assert draws(components, document, 0, 20)[0] in {(0,), (1,)}
    learner = TruncationFreeDPMixture(3, np.random.default_rng(0), eta=ETA, concentration=A)
    learner.components = components
    q = oracle.Q(np.full((1, 3), 1e9 + ETA), np.array([1e6 + 1]), np.array([A]), ETA, A)
    exact = logsumexp(list(oracle.dp_law(q, document).values()))
    assert_allclose(collapsed(learner, document).log_likelihoods, exact, rtol=1e-9)


# -- held out ------------------------------------------------------------------------------------------


def learner_of(components: Components) -> TruncationFreeDPMixture:
    learner = TruncationFreeDPMixture(components.term_count, np.random.default_rng(0), eta=ETA, concentration=A)
    learner.components = components
    return learner


def test_collapsed_is_the_sum_of_the_enumeration() -> None:
    components, q = two_components()
    exact = [logsumexp(list(oracle.dp_law(q, document[None]).values())) for document in DOCUMENTS]
    held_out = collapsed(learner_of(components), DOCUMENTS)
    assert_allclose(held_out.log_likelihoods, exact, rtol=1e-12)
    assert held_out.tokens == DOCUMENTS.sum()
    assert held_out.per_word == pytest.approx(sum(exact) / DOCUMENTS.sum())


def test_plug_in_is_a_finite_mixture() -> None:
    components, _ = two_components()
    weights, unseen = learner_of(components).mean_weights()
    theta = np.column_stack((components.means(), np.full(3, 1 / 3)))
    exact = [np.log(np.append(weights, unseen) @ np.prod(theta.T**document, axis=1)) for document in DOCUMENTS]
    assert_allclose(plug_in(learner_of(components), DOCUMENTS).log_likelihoods, exact, rtol=1e-12)


@pytest.mark.parametrize("score", [plug_in, collapsed])
def test_probabilities_of_all_documents_sum_to_one(score) -> None:
    components, _ = two_components()
    pairs = np.array([np.eye(3)[i] + np.eye(3)[j] for i in range(3) for j in range(3)])
    assert np.exp(score(learner_of(components), pairs).log_likelihoods).sum() == pytest.approx(1.0, rel=1e-12)


# -- updates -------------------------------------------------------------------------------------------


def test_old_batches_fade_by_the_share_of_the_new() -> None:
    """Sizes after batches of 4, 4 and 4: 4, then 4 (1 - 1/2) + 4, then that times (1 - 1/3) + 4; n = 8 stops at 1/2."""
    for documents, sizes in ((None, [4, 6, 8]), (8, [4, 6, 7])):
        learner = TruncationFreeDPMixture(3, np.random.default_rng(2), documents, first_pass="fading")
        for size in sizes:
            learner.partial_fit(DOCUMENTS)
            assert learner.components.sizes.sum() == pytest.approx(size)
            assert learner.components.totals.sum() == pytest.approx(size * DOCUMENTS.sum() / 4)
            faded = learner.components.weight * learner.components.stored
            assert_allclose(faded.sum(axis=0), learner.components.totals)
            assert_allclose(faded.sum(axis=1), size / 4 * DOCUMENTS.sum(axis=0))


def test_the_dead_are_buried_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayestopics.nonparametric.truncation_free.PRUNE_EVERY", 10)
    learner = TruncationFreeDPMixture(3, np.random.default_rng(3))
    learner.components = components_of([0.2, 5.0], np.ones((3, 2)))
    learner.partial_fit(np.eye(3, dtype=int)[[0] * 9])
    assert learner.components.sizes.min() < 1
    learner.partial_fit(np.eye(3, dtype=int)[[0]])
    assert learner.components.sizes.min() >= 1
    assert learner.components.count == learner.used_components()


# -- recovery ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated() -> tuple[Corpus, Corpus, np.ndarray, float]:
    """700 documents of well separated components: 500 to learn from, 200 held out, and the true score of the latter."""
    made = simulate_dp_mixture(700, 60, 50, 1.5, 0.2, np.random.default_rng(4))
    labels, beta = made.truth["components"], made.truth["beta"]
    counts = made.corpus.counts
    weights = np.bincount(labels[:500], minlength=len(beta)) / 500
    with np.errstate(divide="ignore"):
        scores = counts[500:] @ np.log(np.maximum(beta.T, 1e-300)) + np.log(weights)
    known = np.isin(labels[500:], labels[:500])
    truth = logsumexp(scores, axis=1)[known].sum() / counts[500:][known].sum()
    return Corpus.from_sparse(counts[:500]), counts[500:][known], labels[:500], truth


def agreement(labels: np.ndarray, found: np.ndarray) -> float:
    """The share of pairs of documents on which two clusterings agree."""
    return float(np.mean((labels[:, None] == labels) == (found[:, None] == found)))


def most_likely(learner: TruncationFreeDPMixture, corpus: Corpus) -> np.ndarray:
    weights, theta = learner.mean_model()
    return np.argmax(corpus.counts @ np.log(theta) + np.log(weights), axis=1)


@pytest.mark.parametrize("size", [1, 10, 100])
def test_a_stream_recovers_the_components(simulated, size: int) -> None:
    """14 components, seven of them with over 20 documents: whatever the batch size, nearly all documents are right."""
    corpus, held_out, labels, truth = simulated
    rng = np.random.default_rng(5)
    learner = TruncationFreeDPMixture(50, rng, corpus.document_count)
    for batch in minibatches(corpus, size, rng, passes=4):
        learner.partial_fit(batch)
    assert agreement(labels, most_likely(learner, corpus)) > 0.98
    assert truth - 0.1 < plug_in(learner, held_out).per_word < truth + 0.02


def test_the_batch_algorithm_recovers_the_components(simulated) -> None:
    corpus, held_out, labels, truth = simulated
    learner = TruncationFreeDPMixture(50, np.random.default_rng(6), corpus.document_count)
    learner.fit(corpus, 10)
    assert agreement(labels, most_likely(learner, corpus)) > 0.98
    assert learner.components.sizes.sum() == pytest.approx(500)
    assert truth - 0.1 < plug_in(learner, held_out).per_word < truth + 0.02


def test_documents_without_structure_are_one_component() -> None:
    """A control for births: 300 documents of one component stay together, except for a few."""
    rng = np.random.default_rng(7)
    counts = rng.multinomial(60, np.full(50, 1 / 50), size=300)
    learner = TruncationFreeDPMixture(50, rng, 300)
    for batch in minibatches(Corpus.from_sparse(counts), 10, rng, passes=2):
        learner.partial_fit(batch)
    assert learner.components.sizes.max() / learner.components.sizes.sum() > 0.98
