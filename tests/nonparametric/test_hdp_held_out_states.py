"""Held-out documents under states of the HDP sampler: documents of one and two words have closed forms."""

import numpy as np
import pytest

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.nonparametric.hdp_held_out import left_to_right_of_states
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, from_assignments

PRIOR = HdpPrior(gamma=2.0, concentration=1.5, eta=0.2)
CORPUS = Corpus.from_sparse(np.array([[3, 1, 0], [0, 2, 2]]))
STATE = from_assignments(CORPUS, PRIOR, np.array([0, 0, 1, 1, 0, 1, 1, 1]), np.array([0.3, 0.2, 0.5]))
ALIKE = 1 / (1 + PRIOR.gamma)  # the chance that two draws from the sticks beyond the topics in use are the same


def one_word(state: HdpState, word: int) -> float:
    """sum_k beta_k (m_kv + eta) / (m_k + V eta) + beta_u / V."""
    terms = len(state.term_topic)
    topics = (state.term_topic[word] + state.eta) / (state.topic_total + terms * state.eta)
    return float((state.alpha @ topics + state.alpha_new[0] / terms) / state.concentration)


def two_words(state: HdpState, first: int, second: int, alike: float) -> float:
    """All pairs of topics; two new ones are the same with probability `alike`."""
    same, terms, unseen = float(first == second), len(state.term_topic), float(state.alpha_new[0])
    alpha, totals = state.alpha, state.topic_total + terms * state.eta
    p, q = ((state.term_topic[word] + state.eta) / totals for word in (first, second))
    q_after = (state.term_topic[second] + same + state.eta) / (totals + 1)
    mass = (alpha @ p) * (alpha @ q) - (alpha**2) @ (p * q) + (alpha * (alpha + 1)) @ (p * q_after)
    mass += unseen * (alpha @ p + alpha @ q) / terms
    new_after = (same + state.eta) / (terms * state.eta + 1)
    mass += (unseen + unseen**2 * alike) * new_after / terms + unseen**2 * (1 - alike) / terms**2
    return float(mass / (state.concentration * (state.concentration + 1)))


def test_two_words_sum_to_one() -> None:
    pairs = [two_words(STATE, v, w, ALIKE) for v in range(3) for w in range(3)]
    assert sum(pairs) == pytest.approx(1)
    assert sum(two_words(STATE, 0, w, ALIKE) for w in range(3)) == pytest.approx(one_word(STATE, 0))


def test_one_word_is_exact() -> None:
    held_out = Corpus.from_sparse(np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]]))
    found = left_to_right_of_states([STATE, STATE], held_out, 1, np.random.default_rng(1))
    truth = [np.log(one_word(STATE, word)) for word in (0, 2)]  # the empty document has no estimate
    np.testing.assert_allclose(found.log_estimates, np.column_stack([truth, truth]))
    assert found.per_word == pytest.approx(sum(truth) / 2)


@pytest.mark.parametrize("words", [(0, 0), (0, 2), (1, 1)])
def test_two_words_are_unbiased(words: tuple[int, int]) -> None:
    counts = np.bincount(words, minlength=3)[None]
    found = left_to_right_of_states([STATE] * 3000, Corpus.from_sparse(counts), 1, np.random.default_rng(2))
    estimates = np.exp(found.log_estimates[0])
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - two_words(STATE, *words, ALIKE)) < 4 * error + 1e-4
    if words[0] == words[1]:  # this would detect it if all new topics were taken for one
        assert abs(estimates.mean() - two_words(STATE, *words, 1.0)) > 4 * error


def test_no_words() -> None:
    nothing = CORPUS.select_tokens(np.zeros(CORPUS.token_count, bool))
    with pytest.raises(InputError, match="no held-out words"):
        left_to_right_of_states([STATE], nothing, 1, np.random.default_rng(1))
