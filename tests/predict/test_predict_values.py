"""The numbers of a score, by hand from made-up estimates: what counts, how often, and with which error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracle
from bayestopics.lda.left_to_right import Others
from bayestopics.lda.state import Prior
from bayestopics.lda.transition import Info
from bayestopics.predict import completion, leave_one_out
from bayestopics.predict.leave_one_out import Plan, batch_log_means, draw_log_beta, estimates_of, log_mean, summary

CORPUS = oracle.tiny_corpus([[0], [0, 1, 1], [1, 1], [0, 0, 1, 1], [1]], 2)


def test_draws_are_averaged_before_the_log() -> None:
    """Guards against the mean of the logs, and against overflow."""
    assert log_mean(np.log([1.0, 3.0])) == pytest.approx(np.log(2.0))
    assert log_mean(np.array([-5000.0, -5000.0])) == -5000.0
    # 45 draws are 5 batches of three, then 15 of two
    draws = np.exp(np.random.default_rng(1).standard_normal(45))
    sizes = [3] * 5 + [2] * 15
    means = [part.mean() for part in np.split(draws, np.cumsum(sizes)[:-1])]
    assert_allclose(np.exp(batch_log_means(np.log(draws))), means)


def test_every_draw_has_the_same_weight() -> None:
    """Guards against the mean of unequal batches in the place of the mean of the draws."""
    draws = np.exp(0.1 * np.random.default_rng(2).standard_normal((5, 45)))
    found = summary(CORPUS, dict(enumerate(np.log(draws))))
    assert_allclose([row.log_likelihood for row in found.documents], np.log(draws.mean(axis=1)), rtol=1e-12)
    assert found.log_score == pytest.approx(np.log(draws.mean(axis=1)).mean())
    assert found.sampling_error == 0.0


def test_the_errors_of_a_part_of_the_documents_by_hand() -> None:
    """Guards against errors without the factor of a finite population, with n for n - 1, or summed without squares."""
    chosen = {0: np.array([-1.0, -1.2]), 1: np.array([-3.5, -3.1]), 3: np.array([-4.4, -4.0])}
    found = summary(CORPUS, chosen)
    logs = np.array([np.log(np.mean(np.exp(one))) for one in chosen.values()])
    tokens, mean_length = np.array([1, 3, 4]), 11 / 5
    per_token = logs.sum() / 8
    assert found.log_score == pytest.approx(per_token * mean_length)
    assert found.perplexity == pytest.approx(np.exp(-per_token))
    away = logs - per_token * tokens
    deviation = np.sqrt(np.sum((away - away.mean()) ** 2) / 2)
    assert found.sampling_error == pytest.approx(deviation * np.sqrt((1 - 3 / 5) / 3))
    errors = np.array([0.2, 0.4, 0.4]) / np.sqrt(2) / np.sqrt(2)  # two batches of one draw: their deviation over sqrt 2
    assert [row.standard_error for row in found.documents] == pytest.approx(errors.tolist())
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(errors**2)) * mean_length / 8)


def test_terms_that_are_not_asked_for_are_drawn_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against the prior of one term for all others: parts of a Dirichlet add up with their parameters."""
    others = Others(np.array([[2, 0], [1, 4], [0, 0], [3, 1], [0, 5]]), np.array([6, 10]), np.ones(2), 0.5)
    shapes: list[np.ndarray] = []

    def draws(shape: np.ndarray, rng: Any) -> np.ndarray:
        shapes.append(shape)
        return np.log(shape)

    monkeypatch.setattr(leave_one_out, "log_gamma_draws", draws)
    log_beta = draw_log_beta(others, np.array([1, 3]), np.random.default_rng(1))
    assert shapes[0].tolist() == [[1.5, 4.5], [3.5, 1.5], [2 + 3 * 0.5, 5 + 3 * 0.5]]
    assert_allclose(np.exp(log_beta), [[1.5 / 8.5, 4.5 / 12.5], [3.5 / 8.5, 1.5 / 12.5]])
    draw_log_beta(others, np.arange(5), np.random.default_rng(1))
    assert shapes[1].tolist() == (others.term_topic + 0.5).tolist()


def test_which_sweeps_give_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a burn-in that is short or not there, wrong thinning, and documents that share a generator."""
    done, seen, first = [0], [], []

    def start(plan: Plan, documents: Any, rngs: Any) -> Any:
        first.extend(rng.random() for rng in rngs)
        return lambda: done.__setitem__(0, done[0] + 1) is None, list(documents)

    def estimate(document: Any, terms: np.ndarray, particles: int, rng: Any) -> float:
        seen.append((document, done[0], sorted(terms.tolist()), particles))
        return 10.0 * document + done[0]

    monkeypatch.setattr(leave_one_out, "_side_by_side", start)
    monkeypatch.setattr(leave_one_out, "_beta_integrated", estimate)
    plan = Plan(CORPUS, 2, Prior(), "single-site", 10, 7, 3, 4, "integrated", 5)
    found = estimates_of(plan, [3, 1])
    assert done[0] == 17
    assert [sweep for _, sweep, _, _ in seen] == [10, 10, 13, 13, 16, 16]  # after 3, 6 and 9 kept ones
    assert {(document, *terms, particles) for document, _, terms, particles in seen} == {
        (3, 0, 0, 1, 1, 4),
        (1, 0, 1, 1, 4),
    }
    assert {document: logs.tolist() for document, logs in found.items()} == {3: [40, 43, 46], 1: [20, 23, 26]}
    assert len(set(first)) == 2


def test_which_sweeps_count_for_completion_and_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against sweeps of the burn-in that count, batches out of order, and an error that is not one of a mean."""
    done, added = [0], []

    def sweep(state: Any, rng: Any) -> Info:
        done[0] += 1
        return Info(None)

    def value(number: int) -> float:
        return 0.1 + 0.05 * np.sin(number)

    def add(self: completion.Completion, state: Any) -> None:
        added.append((id(self), done[0]))
        self.total += value(done[0])
        self.states += 1

    sampler = SimpleNamespace(init=lambda *_: SimpleNamespace(assignments=np.zeros(0)), sweep=sweep)
    monkeypatch.setattr(completion, "sampler_by_name", lambda name: sampler)
    monkeypatch.setattr(completion.Completion, "add", add)
    found = completion.score(CORPUS, 2, Prior(), sweeps=50, burn_in=9, documents=3, rng=np.random.default_rng(3))
    assert done[0] == 59
    assert [number for _, number in added] == list(range(10, 60))
    batch = [list(dict.fromkeys(name for name, _ in added)).index(name) for name, _ in added]
    assert batch == [20 * k // 50 for k in range(50)]
    values = np.array([value(number) for number in range(10, 60)])
    assert found.log_score == pytest.approx(np.log(values.mean()))
    means = np.array([values[np.array(batch) == b].mean() for b in range(20)]) / values.mean()
    assert found.standard_error == pytest.approx(np.sqrt(np.sum((means - means.mean()) ** 2) / 19 / 20))
    assert found.heldout_tokens == 1 + 2 + 0
