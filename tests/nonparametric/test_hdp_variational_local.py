"""The local draws of the truncation-free HDP against enumeration over assignments and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, logsumexp

import variational_oracle as oracle
from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric import hdp_truncation_free
from bayestopics.nonparametric.antoniak import draw_tables
from bayestopics.nonparametric.components import Components, place_in_list
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP, _sweep, draw_batch
from bayestopics.nonparametric.stream import Bags

ETA, GAMMA, CONCENTRATION = 0.3, 0.4, 1.5
ONE_DOCUMENT = ([0, 0, 0, 0], [0, 0, 1, 2])  # (document, term) of the tokens, in order
TWO_DOCUMENTS = ([0, 0, 0, 1, 1], [0, 1, 1, 0, 2])


def two_topics() -> tuple[Components, oracle.Q]:
    """The second is the larger: it is first on the stick, and number 0 in the enumeration."""
    excess, sizes = np.array([[2.5, 0.3], [0.0, 4.0], [0.7, 0.0]]), np.array([1.2, 2.5])
    components = Components(3, ETA, 2)
    components.stored[:], components.sizes[:], components.totals[:] = excess / 0.5, sizes, excess.sum(axis=0)
    components.weight = 0.5
    return components, oracle.Q(excess.T[::-1] + ETA, 1 + sizes[::-1], GAMMA + np.array([1.2, 0.0]), ETA, GAMMA)


def bags_of(documents: list[int], terms: list[int]) -> Bags:
    counts = np.zeros((max(documents) + 1, 3), int)
    np.add.at(counts, (documents, terms), 1)
    return Bags.of(counts, 3)


def draws(components: Components, tokens: tuple, sweeps: int, count: int, blocks: bool = False) -> list:
    """(assignment, tables) with the topics numbered as in the enumeration."""
    rng, bags, swap = np.random.default_rng(1), bags_of(*tokens), np.array([1, 0])[: components.count]
    result = []
    for _ in range(count):
        z, tables = draw_batch(components, GAMMA, CONCENTRATION, bags, sweeps, blocks, rng)
        numbers = np.concatenate((swap, np.arange(components.count, len(tables))))
        labels = oracle.canonical(numbers[z], components.count)
        renamed = np.zeros(len(tables), int)
        for old, new in zip(z, labels, strict=True):
            renamed[new] = tables[old]
        result.append((labels, tuple(renamed.tolist())))
    return result


def joint(law: dict) -> dict:
    return oracle.normalised({(z, s): value for z, tables in law.items() for s, value in tables.items()})


def of_topics(law: dict) -> dict:
    return oracle.normalised({z: logsumexp(list(tables.values())) for z, tables in law.items()})


@pytest.mark.parametrize("tokens", [ONE_DOCUMENT, TWO_DOCUMENTS], ids=["one document", "two documents"])
@pytest.mark.parametrize("blocks", [False, True], ids=["tokens", "blocks"])
def test_topics_and_tables_have_the_law_of_the_enumeration(tokens: tuple, blocks: bool) -> None:
    components, q = two_topics()
    law = oracle.hdp_law(q, *tokens, CONCENTRATION)
    drawn = draws(components, tokens, 10, 4000, blocks)
    assert oracle.p_value(drawn, joint(law)) > oracle.FALSE_ALARM
    assert oracle.p_value([z for z, _ in drawn], of_topics(law)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("room", [1, 16])
@pytest.mark.parametrize("blocks", [False, True], ids=["tokens", "blocks"])
def test_from_nothing_it_is_the_posterior_of_the_hdp(blocks: bool, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 52 set partitions of five tokens; with little room, the arrays grow in the middle of a document."""
    monkeypatch.setattr(hdp_truncation_free, "ROOM", room)
    law = oracle.hdp_law(oracle.prior_only(3, ETA, GAMMA), *TWO_DOCUMENTS, CONCENTRATION)
    assert len(law) == 52
    drawn = draws(Components(3, ETA), TWO_DOCUMENTS, 10, 4000, blocks)
    assert oracle.p_value(drawn, joint(law)) > oracle.FALSE_ALARM


def test_other_laws_are_caught() -> None:
    """Controls: the printed exponent of the sticks, one token fewer in lambda, a table more for each topic."""
    components, q = two_topics()
    drawn = draws(components, TWO_DOCUMENTS, 10, 12_000)
    printed = replace(q, v=q.v - GAMMA + 1.0)
    assert oracle.p_value(drawn, joint(oracle.hdp_law(printed, *TWO_DOCUMENTS, CONCENTRATION))) < oracle.FALSE_ALARM
    fewer = replace(q, parameters=np.maximum(q.parameters - 1.0, ETA))
    assert oracle.p_value(drawn, joint(oracle.hdp_law(fewer, *TWO_DOCUMENTS, CONCENTRATION))) < oracle.FALSE_ALARM
    assert oracle.p_value(drawn, joint(oracle.hdp_law(q, *TWO_DOCUMENTS, 1.3 * CONCENTRATION))) < oracle.FALSE_ALARM


# -- one token ------------------------------------------------------------------------------------------

TOKENS = ([0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 3, 3, 0, 0, 1, 2, 3, 3])  # the last one is drawn
BEFORE = {
    "in a topic of q": [0, 2, 2, 3, 3, 5, 0, 2, 2],
    "in its own new topic": [0, 2, 2, 3, 3, 5, 0, 2, 6],
    "in none": [0, 2, 2, 3, 3, 5, 0, 2, -1],
}
OLD, SLOTS, TERMS = 5, 8, 4


def measured(choose: Callable[[float], int], low: float, high: float, ends: tuple[int, int]) -> np.ndarray:
    """How much of [low, high) each topic has; `ends` are the topics at both ends. By halving, to 1e-14 per end."""
    if high - low < 1e-14 or (ends[0] == ends[1] and high - low < 1e-3):
        return (high - low) * np.eye(SLOTS)[ends[0]]
    middle = choose((low + high) / 2)
    halves = (low, (low + high) / 2, (ends[0], middle)), ((low + high) / 2, high, (middle, ends[1]))
    return sum((measured(choose, *half) for half in halves), np.zeros(SLOTS))


@pytest.mark.parametrize("before", BEFORE)
def test_a_token_has_the_conditional_of_all_topics_weighed_one_by_one(before: str) -> None:
    rng, z = np.random.default_rng(5), np.array(BEFORE[before])
    terms = np.array(TOKENS[1])
    components = Components(TERMS, ETA, OLD)
    components.stored[:] = rng.gamma(1.0, 2.0, (TERMS, OLD)) * (rng.random((TERMS, OLD)) < 0.5)
    components.weight = 0.5
    components.totals[:] = components.weight * components.stored.sum(axis=0)
    pi = np.append(rng.dirichlet(np.ones(OLD)), np.zeros(SLOTS - OLD)) * 0.6
    pi[5], pi[6], unseen = 0.1, 0.1 * np.any(z == 6), 0.3 - 0.1 * np.any(z == 6)

    # lambda and n_dk with all tokens but the last
    counts, in_document = np.zeros((TERMS, SLOTS)), np.bincount(z[3:-1], minlength=SLOTS)
    np.add.at(counts, (terms[:-1], z[:-1]), 1.0)
    rows = components.rows(np.arange(TERMS), SLOTS - OLD) + counts
    born = np.where(np.arange(SLOTS) == 6, 0.0, pi)  # a topic without tokens is gone
    weights = (in_document + CONCENTRATION * born) * rows[terms[-1]] / rows.sum(axis=0)
    new = 6 if z[-1] == 6 else 7 if np.any(z == 6) else 6  # the slot that a new topic gets
    weights[new] = CONCENTRATION * (0.3 if new == 6 else unseen) / TERMS

    def choose(u: float) -> int:
        lists = components.lists(np.arange(TERMS), np.bincount(terms))
        drawn, place = z.copy(), np.zeros(len(z), np.int64)
        for i in np.flatnonzero(z >= 0):
            place[i] = place_in_list(terms[i], z[i], lists)
            lists.excess[place[i]] += 1.0
        members = np.bincount(z[z >= 0], minlength=SLOTS)
        tokens = (np.array([0, 3, len(z)]), terms, drawn, place)
        words = np.array([int(u * 2**53) << 11, 0, 0, 0], np.uint64)  # its first number is u
        numbers = (OLD, GAMMA, CONCENTRATION, TERMS, ETA)
        totals = components.row_totals(SLOTS - OLD) + members
        _sweep(len(z) - 1, tokens, lists, totals, members, pi.copy(), np.array([unseen]), numbers, words)
        return int(drawn[-1])

    shares = measured(choose, 0.0, 1.0, (choose(0.0), choose(1.0 - 2**-53)))
    assert_allclose(shares, weights / weights.sum(), rtol=0, atol=1e-10)
    forgotten = np.where((rows[terms[-1]] > ETA) | (np.arange(SLOTS) == new), weights, 0.0)  # a control: lists alone
    assert np.max(np.abs(shares - forgotten / forgotten.sum())) > 1e-3


def test_lists_of_topics_are_those_of_the_array() -> None:
    """The lists stay right after births, fading to 0, deaths and reading from a file."""
    rng = np.random.default_rng(6)
    learner = TruncationFreeHDP(30, rng, 100, gamma=5.0)
    counts = rng.multinomial(20, rng.dirichlet(np.full(30, 0.1), 100))

    def check(components: Components) -> None:
        lengths, listed = components.present()
        for v in range(30):
            assert_array_equal(listed[v, : lengths[v]], np.flatnonzero(components.stored[v]))

    for start in range(0, 100, 10):
        learner.partial_fit(counts[start : start + 10])
        check(learner.components)
    assert learner.components.count > 5
    check(TruncationFreeHDP.from_state_dict(learner.state_dict()).components)
    learner.components.fade(1.0 - 1e-101)
    learner.partial_fit(counts[:5])
    check(learner.components)
    learner.components.keep(learner.components.totals > 1.0)
    check(learner.components)


@pytest.mark.parametrize(("customers", "concentration"), [(2, 0.3), (5, 0.02), (6, 2.5), (40, 0.9)])
def test_tables_have_the_law_of_the_stirling_numbers(customers: int, concentration: float) -> None:
    """[S.2, 3]: p(s) = G(c) / G(c + n) S(n, s) c^s."""
    words = new_words(np.random.default_rng(2))
    drawn = [draw_tables(customers, concentration, words) for _ in range(20_000)]
    with np.errstate(divide="ignore"):
        logs = np.log(oracle.stirling(customers)[customers]) + np.arange(customers + 1) * np.log(concentration)
    law = {
        s: np.exp(logs[s] + gammaln(concentration) - gammaln(concentration + customers)) for s in range(customers + 1)
    }
    assert sum(law.values()) == pytest.approx(1.0)
    assert oracle.p_value(drawn, law) > oracle.FALSE_ALARM
    assert draw_tables(0, concentration, words) == 0
    assert draw_tables(7, 0.0, words) == 1


def test_sums_after_updates_are_those_of_the_tokens() -> None:
    """Tokens after batches of 2 documents each: N, then N (1 - 1/2) + N; every topic's terms add up to its total."""
    counts = np.zeros((2, 3), int)
    np.add.at(counts, TWO_DOCUMENTS, 1)
    learner = TruncationFreeHDP(3, np.random.default_rng(3), first_pass="fading")
    for share in (1.0, 1.5):
        learner.partial_fit(counts)
        components = learner.components
        assert np.allclose(components.weight * components.stored.sum(axis=1), share * counts.sum(axis=0))
        assert np.allclose(components.weight * components.stored.sum(axis=0), components.totals)
        assert 0 < components.sizes.sum() <= share * counts.sum()
