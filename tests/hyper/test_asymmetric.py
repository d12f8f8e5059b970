"""An alpha for each topic: derivatives and the moves of labels against enumeration, the answer against an exact one."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bayestopics.api import hyper
from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper import asymmetric as hyper_asymmetric
from bayestopics.hyper import gain
from bayestopics.hyper.asymmetric import Asymmetric, AsymmetricWalk, asymmetric, first_alphas, last_step
from bayestopics.hyper.gain import Gain, rungs
from bayestopics.hyper.labels import Exchange, aligned, matching
from bayestopics.hyper.louis import AsymmetricDerivatives, prior_at, second_derivative
from bayestopics.hyper.score_chains import Crew, Leg
from bayestopics.lda.state import Prior, count, from_assignments
from bayestopics.runs.kinds import HyperResult
from dying import resumed
from oracle import all_assignments, differences, enumerate_all, log_joint, log_prior, tiny_corpus
from two_topics_oracle import best, log_marginal

TINY = tiny_corpus([[0, 1, 1], [0, 0], [2], []], 3)
# two topics, 84 tokens of 3 terms; `EXACT` is where `two_topics_oracle.best` ends, from (1.2, 0.3, 0.2)
ALPHA = (1.2, 0.3)
DRAWN = simulate_lda(documents=14, length=6, terms=3, topics=2, alpha=ALPHA, eta=0.2, rng=np.random.default_rng(2))
SMALL = DRAWN.corpus
EXACT = np.array([0.88883021, 0.27594212, 0.09280367])


def at(topics: int) -> np.ndarray:
    return np.array([*(0.9, 0.3, 0.5)[:topics], 0.7])


def log_m(topics: int, x: np.ndarray) -> float:
    return enumerate_all(TINY, topics, prior_at(np.exp(x))).log_evidence


@pytest.mark.parametrize("topics", [2, 3])
def test_gradient_and_second_derivative_of_log_m(topics: int) -> None:
    """For every assignment, and by Fisher's and Louis' identities; without the normaliser of a document, both fail."""
    h = at(topics)
    found, derivatives = enumerate_all(TINY, topics, prior_at(h)), AsymmetricDerivatives(TINY, topics, h)
    z = all_assignments(TINY.token_count, topics)
    rows = [derivatives(found.state(number)) for number in range(len(z))]
    scores, bends = (np.array(side) for side in zip(*rows, strict=True))
    for number in range(5, len(z), len(z) // 3):
        first, second = differences(
            lambda x, one=z[number : number + 1]: log_joint(TINY, one, topics, prior_at(np.exp(x)))[0], np.log(h)
        )
        np.testing.assert_allclose(scores[number], first, atol=1e-8)
        np.testing.assert_allclose(bends[number], second, atol=1e-5)
    shares = found.posterior
    gradient, bend = shares @ scores, np.einsum("nkl,n->kl", bends, shares)
    first, second = differences(lambda x: log_m(topics, x), np.log(h))
    np.testing.assert_allclose(gradient, first, atol=1e-8)
    np.testing.assert_allclose(second_derivative(bend, scores - gradient, shares), second, atol=1e-5)
    assert np.max(np.abs(gradient - derivatives.documents - first)) > 0.1
    assert np.max(np.abs(second_derivative(bend - derivatives.bend, scores - gradient, shares) - second)) > 0.1


def test_equal_alphas_have_the_derivatives_of_one() -> None:
    """The score of a single alpha is the sum of the scores of all."""
    from bayestopics.hyper.louis import Derivatives

    state = from_assignments(TINY, 3, Prior(0.4, 0.7), np.array([0, 1, 2, 2, 1, 1]))
    first, second = Derivatives(TINY, 3, np.array([0.4, 0.7]))(state)
    many, bends = AsymmetricDerivatives(TINY, 3, np.array([0.4, 0.4, 0.4, 0.7]))(state)
    np.testing.assert_allclose([many[:3].sum(), many[3]], first)
    np.testing.assert_allclose([bends[:3, :3].sum(), bends[3, 3]], np.diag(second))


# -- labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [(0.9, 0.3, 0.5), (0.4, 0.4, 0.4)])
def test_exchanges_have_the_law_of_the_names(alpha: tuple[float, ...]) -> None:
    """4,000 moves over the six names of a state: each as often as p(z | alpha) says, and its counts are right."""
    z = np.array([0, 1, 1, 1, 1, 2], np.int32)
    state, rng = from_assignments(TINY, 3, Prior(alpha, 0.7), z), np.random.default_rng(3)
    move, names = Exchange(TINY, np.array(alpha)), [tuple(np.array(name)[z]) for name in permutations(range(3))]
    seen = dict.fromkeys(names, 0)
    for _ in range(4000):
        move(state, rng)
        seen[tuple(state.assignments)] += 1
    for told, again in zip(
        (state.document_topic, state.term_topic, state.topic_total), count(TINY, 3, state.assignments), strict=True
    ):
        np.testing.assert_array_equal(told, again)
    weights = np.exp(log_prior(TINY.documents, np.array(names), np.array(alpha)))
    expected = 4000 * weights / weights.sum()
    distance = np.sum((np.array(list(seen.values())) - expected) ** 2 / expected)
    assert distance < 35  # draws that depend on each other a little; chi-square with 5 degrees: p < 1e-5
    if len(set(alpha)) > 1:
        assert np.sum((4000 / 6 - expected) ** 2 / expected) > 100  # all names alike would be seen


def test_chains_are_matched() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, size=(30, 5)) * rng.integers(0, 2, size=(30, 5))
    shuffled = np.array([3, 0, 4, 1, 2])
    np.testing.assert_array_equal(matching(counts, counts[:, shuffled]), shuffled)
    z = rng.integers(2, size=SMALL.token_count, dtype=np.int32)
    first, other = aligned(SMALL, 2, [z, 1 - z])
    np.testing.assert_array_equal(first, z)
    np.testing.assert_array_equal(other, z)


def test_the_first_alphas_make_the_assignments_most_probable() -> None:
    z = DRAWN.truth["assignments"]
    x = np.log(first_alphas(SMALL, 2, z, 0.5))

    def log_density(x: np.ndarray) -> float:
        return float(log_prior(SMALL.documents, z[None], np.exp(x))[0])

    assert np.all(np.abs(differences(log_density, x)[0]) < 0.01)
    assert x[0] - x[1] > 0.3
    np.testing.assert_allclose(first_alphas(SMALL, 2, 1 - z, 0.5), np.exp(x[::-1]))


# -- the answer --------------------------------------------------------------------------------------------


def test_the_rungs_of_the_gain_integrate_and_are_dense_at_the_start() -> None:
    along, weights = rungs()
    assert weights.sum() == pytest.approx(1)
    assert weights @ np.sqrt(along) == pytest.approx(2 / 3, abs=1e-4)
    rise = np.tanh(along / 0.05)  # as the names of topics settle
    assert weights @ rise == pytest.approx(0.05 * np.log(np.cosh(20)), abs=2e-3)


def test_near_the_exact_answer() -> None:
    """Within five Monte Carlo deviations, and the gain within five errors."""
    counts = np.zeros((14, 3), int)
    np.add.at(counts, (SMALL.documents, SMALL.terms), 1)

    def exact(h: np.ndarray) -> float:
        return log_marginal(counts, (float(h[0]), float(h[1])), float(h[-1]))

    assert all(exact(EXACT * np.exp(away)) < exact(EXACT) for away in 0.05 * np.concatenate([np.eye(3), -np.eye(3)]))
    found = asymmetric(SMALL, 2, sweeps=500, chains=8, seed=2)
    assert found.warnings == []
    away = np.log(found.h / EXACT)
    assert away @ np.linalg.solve(found.ellipse.log_covariance, away) < 25
    first = found.symmetric.h[[0, 0, 1]]
    assert not found.ellipse.covers(first)
    assert found.gain.standard_error is not None
    assert abs(found.gain.log_m - (exact(found.h) - exact(first))) < 5 * found.gain.standard_error
    assert found.gain.log_m > 5 * found.gain.standard_error  # no gain at all would be seen
    assert found.region.covers(np.array([*ALPHA, 0.2]))
    summary = found.summary()
    assert summary["alpha"] == sorted(summary["alpha"], reverse=True)
    assert all(
        low < value < high for value, (low, high) in zip(summary["alpha"], summary["region"]["alpha"], strict=True)
    )
    shares = np.bincount(found.assignments, minlength=2)
    assert shares[0] > shares[1]


HOW = {"sweeps": 100, "chains": 2, "seed": 3}


@pytest.mark.usefixtures("workers_here")
def test_same_bits_for_any_number_of_workers_and_after_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gain, "RUNGS", 3)
    monkeypatch.setattr(hyper_asymmetric, "LEAST_SWEEPS", 10)
    alone = asymmetric(SMALL, 2, **HOW).summary()
    assert asymmetric(SMALL, 2, workers=2, **HOW).summary() == alone
    for one in resumed(lambda checkpoint: asymmetric(SMALL, 2, checkpoint=checkpoint, **HOW), at=(0.9,)):
        assert one.summary() == alone


def walk_of(slopes: list[float], bends: list[float], x: list[float]) -> AsymmetricWalk:
    """Eight chains with these scores and second derivatives, up to noise."""
    rng, p = np.random.default_rng(1), len(x)
    legs = [
        Leg(
            np.array(slopes) + 0.1 * rng.normal(size=(40, p)),
            np.diag(bends) + 0.3 * np.array([np.diag(row) for row in rng.normal(size=(4, p))]),
            np.zeros(0),
        )
        for _ in range(8)
    ]
    return AsymmetricWalk(np.array(x), [], legs=[legs], long=True)


def test_what_is_at_an_end_or_unclear_has_no_error() -> None:
    """One alpha presses against its end, one reaches it with the last step, one has no information."""
    limits = np.array([[-2.0, 2.0]] * 5)
    walk = walk_of([-3.0, 0.5, 2.0, 0.0, 1.0], [-9.0, -9.0, -9.0, 0.05, -9.0], [-2.0, 0.0, 1.9, 0.3, 0.0])
    x, known, last = last_step(walk, limits)
    assert known.tolist() == [False, True, False, False, True]
    np.testing.assert_allclose(x, [-2.0, 0.5 / 9, 1.9, 0.3, 1 / 9], atol=0.03)
    assert len(last.x) == 2
    assert walk.free(limits).tolist() == [False, True, True, True, True]
    walk = walk_of([-3.0, 3.0], [-9.0, -9.0], [-2.0, 2.0])
    with pytest.raises(InputError, match="widen --alpha-range"):
        walk.free(limits[:2])


def test_a_corpus_that_determines_nothing_has_an_answer_without_errors() -> None:
    """No information on anything; the summary has no error, no region, no precision, and no NaN."""
    limits = np.array([[-9.0, 9.0]] * 3)
    walk = walk_of([0.1, 0.0, 0.0], [0.05, 0.05, 0.05], [0.0, 0.1, 0.2])
    x, known, last = last_step(walk, limits)
    assert not known.any()
    # curved, but an interval reaches further than a factor of ten
    assert not last_step(walk_of([0.1] * 3, [-0.55] * 3, [0.0, 0.1, 0.2]), limits)[1].any()
    assert last_step(walk_of([0.1] * 3, [-1.0] * 3, [0.0, 0.1, 0.2]), limits)[1].all()
    walk.states = [np.zeros(4, np.int32)] * 8
    symmetric = SimpleNamespace(h=np.array([1.0, 1.0]))
    found = hyper_asymmetric._answer(walk, x, known, last, symmetric, Gain(np.array([0.1, 0.2])), limits, 0.1)
    summary = found.summary()
    assert summary["region"]["alpha"] == summary["ellipse"]["alpha"] == [[None, None]] * 2
    assert summary["region"]["radius_squared"] is summary["precision"] is None
    json.dumps(summary, allow_nan=False)
    (said,) = found.warnings
    assert said.startswith("Alpha of topic 0, alpha of topic 1 and eta are hardly determined")


def test_the_gain_is_the_exact_one() -> None:
    """Between the exact tops, by longer chains than the command's: nothing is left of a bias of a tenth of it."""
    counts = np.zeros((14, 3), int)
    np.add.at(counts, (SMALL.documents, SMALL.terms), 1)
    single = best(counts, (0.25, 0.15))
    exact = log_marginal(counts, tuple(EXACT[:2]), EXACT[2]) - log_marginal(counts, float(single[0]), float(single[1]))
    assert exact == pytest.approx(1.9433, abs=1e-3)

    def run(function: Callable, jobs: list[tuple], _: int) -> list:
        return [function(SMALL, *job, lambda _: None) for job in jobs]

    crew = Crew(run, 2, "single-site", 5, 4, NoCheckpoint())
    states = [np.random.default_rng(k).integers(2, size=84, dtype=np.int32) for k in range(8)]
    found = gain.gain(crew, (np.log(single[[0, 0, 1]]), np.log(EXACT)), (states, states), 400)
    assert found.standard_error is not None
    assert found.standard_error < 0.05
    assert abs(found.log_m - exact) < 4 * found.standard_error


def test_an_end_of_the_range_is_told() -> None:
    found = asymmetric(SMALL, 2, alphas=(0.5, 2.0), sweeps=100, chains=4, seed=1)
    assert found.h[1] == pytest.approx(0.5)
    assert found.known.tolist() == [True, False, True]
    assert any(one.startswith("Alpha of topic 1 is at the end of the range") for one in found.warnings)
    summary = found.summary()
    assert summary["standard_error"]["alpha"][1] is None
    assert summary["region"]["alpha"][1] == [None, None]
    assert summary["region"]["eta"][0] < found.h[2]


def test_the_gain_warns_if_its_starts_differ() -> None:
    assert Gain(np.array([5.0, 5.2, 5.1, 4.9])).warnings() == []
    assert Gain(np.array([5.0, 5.5, 5.0, 5.5])).warnings() == []  # too little to matter
    (said,) = Gain(np.array([5.0, 9.0, 5.1, 9.1])).warnings()
    assert "differs by 4.0 nats" in said
    assert Gain(np.array([5.0])).standard_error is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(SMALL, tmp_path / "small.ldac")
    words = ["hyper", str(tmp_path / "small.ldac"), "--topics", "2", "--asymmetric", "--workers", "1"]
    words += ["--sweeps", "100", "--chains", "4", "--out", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = {"alpha", "eta", "standard_error", "ellipse", "region", "agreement", "precision", "symmetric", "gain"}
    assert set(found) == names | {"path", "top_words", "warnings"}
    assert len(found["alpha"]) == len(found["standard_error"]["alpha"]) == len(found["region"]["alpha"]) == 2
    assert main(words) == 0  # from the record
    text = capsys.readouterr().out
    assert text.startswith("topic      alpha  Monte Carlo error  95% given the corpus")
    assert f"    0  {found['alpha'][0]:9.4g}" in text
    assert f"log m is {found['gain']['log_m']:.1f} nats" in text
    assert "larger than with the best single alpha" in text
    result = HyperResult.load(tmp_path / "out")
    assert result.tables["alpha"]["alpha"].tolist() == found["alpha"]
    assert list(result.tables["path"]) == ["step", "alpha_0", "alpha_1", "eta"]
    assert len(result.plot().axes[0].patches) == 2
    assert set(result.to_arviz().posterior) == {"score_alpha_0", "score_alpha_1", "score_eta"}
    assert main([*words, "--method", "tempering"]) == 2
    assert "by the method score only, not by tempering" in capsys.readouterr().err
    alphas = ",".join(map(str, found["alpha"]))
    fit = ["fit", str(tmp_path / "small.ldac"), "--topics", "2", "--alpha", alphas, "--sweeps", "5", "--burn-in", "0"]
    assert main(fit) == 0


def test_an_option_of_tempering_is_refused() -> None:
    with pytest.raises(InputError, match="method score only, not by tempering"):
        hyper(SMALL, 2, asymmetric=True, integrate=True)
    with pytest.raises(InputError, match="between 0 and 1"):
        hyper(SMALL, 2, asymmetric=True, precision=1.5)
    with pytest.raises(InputError, match="method score only, not by gibbs-em"):
        hyper(SMALL, 2, asymmetric=True, method="gibbs-em")


def test_errors_of_one_and_of_all_together() -> None:
    """The intervals are those of each number by itself; a joint radius needs more batches than numbers."""
    found = asymmetric(SMALL, 2, sweeps=100, chains=2, seed=3)
    assert isinstance(found, Asymmetric)
    np.testing.assert_allclose(found.estimate.x + found.estimate.step, np.log(found.h))  # in the same order
    half = np.log(found.region.intervals[:, 1] / found.h)
    np.testing.assert_allclose(half, 1.959964 * found.region.deviations, rtol=1e-6)
    assert found.estimate.count == 32
    assert found.ellipse.radius_squared is not None
    assert found.ellipse.quantile == pytest.approx(2.0395, abs=1e-3)
