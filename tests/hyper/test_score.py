"""Score chains: gradient and information of log m against enumeration, and the answer against an exact one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper import score, several
from bayestopics.hyper.best import Ellipse
from bayestopics.hyper.level_set import DEEP, STRIDE, Profile, Rung, profile
from bayestopics.hyper.louis import Derivatives, Estimate, estimate, second_derivative
from bayestopics.hyper.score_chains import Leg, leg
from bayestopics.lda.state import Prior
from dying import resumed
from oracle import all_assignments, differences, enumerate_all, log_joint, tiny_corpus
from two_topics_oracle import log_marginal

TINY = tiny_corpus([[0, 1, 1, 2], [0, 0], [2, 1], []], 3)
H = np.array([0.4, 0.7])
# two topics, 96 tokens of 4 terms; `EXACT` is where `two_topics_oracle.best` ends, from (0.4, 0.3)
SMALL = simulate_lda(documents=16, length=6, terms=4, topics=2, alpha=0.4, eta=0.3, rng=np.random.default_rng(2)).corpus
EXACT = np.array([0.43472317, 0.18625087])


def log_m(corpus: Corpus, topics: int, x: np.ndarray) -> float:
    return enumerate_all(corpus, topics, Prior(*np.exp(x).tolist())).log_evidence


def exact(topics: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s and ds/dx of every assignment, and its share of the posterior."""
    found, derivatives = enumerate_all(TINY, topics, Prior(*H.tolist())), Derivatives(TINY, topics, H)
    rows = [derivatives(found.state(number)) for number in range(len(found.assignments))]
    return *(np.array(side) for side in zip(*rows, strict=True)), found.posterior  # type: ignore[return-value]


@pytest.mark.parametrize("topics", [2, 3])
def test_derivatives_of_every_assignment(topics: int) -> None:
    z, x = all_assignments(TINY.token_count, topics), np.log(H)
    scores, bends, _ = exact(topics)
    for number in range(0, len(z), 37):
        first, second = differences(
            lambda x, one=z[number : number + 1]: log_joint(TINY, one, topics, Prior(*np.exp(x).tolist()))[0], x
        )
        np.testing.assert_allclose(scores[number], first, atol=1e-8)
        np.testing.assert_allclose(bends[number], second, atol=1e-5)


@pytest.mark.parametrize("topics", [2, 3])
def test_gradient_and_second_derivative_of_log_m(topics: int) -> None:
    """Fisher's and Louis' identities over all assignments; and twins without a term, or with a wrong sign, fail."""
    scores, bends, shares = exact(topics)
    gradient, bend = shares @ scores, np.einsum("nkl,n->kl", bends, shares)
    first, second = differences(lambda x: log_m(TINY, topics, x), np.log(H))
    np.testing.assert_allclose(gradient, first, atol=1e-8)
    away = scores - gradient
    np.testing.assert_allclose(second_derivative(bend, away, shares), second, atol=1e-5)
    missing = np.einsum("nk,nl,n->kl", away, away, shares)
    twins = {
        "no covariance": bend,
        "its sign": bend - missing,
        "not about the mean": second_derivative(bend, scores, shares),
    }
    twins["ds/dx without its first term"] = second_derivative(bend - np.diag(gradient), away, shares)
    for name, twin in twins.items():
        assert np.max(np.abs(twin - second)) > 1e-3, name


def test_a_chain_has_the_exact_gradient() -> None:
    """Four chains of 4,000 sweeps: gradient and information within five of their errors, without the broken twin."""
    legs = [
        leg(
            TINY,
            2,
            H,
            np.zeros(TINY.token_count, int),
            sweeps=4000,
            burn_in=20,
            batches=8,
            rng=np.random.default_rng(k),
        )
        for k in range(4)
    ]
    scores, bends = np.array([one.scores for one in legs]), np.array([one.bends for one in legs])
    found = estimate(np.log(H), scores, bends)
    first, second = differences(lambda x: log_m(TINY, 2, x), np.log(H))
    batches = scores.reshape(32, -1, 2).mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(32)
    assert np.all(np.abs(found.gradient - first) < 5 * errors)
    assert np.all(np.abs(first) > 10 * errors)  # no gradient at all would be seen
    wrong = np.linalg.eigvalsh(-second)[0]
    assert abs(np.linalg.eigvalsh(found.information)[0] - wrong) < 5 * abs(wrong / found.clearness) + 0.02


def test_the_exact_answer_is_the_top() -> None:
    counts = np.zeros((16, 4), int)
    np.add.at(counts, (SMALL.documents, SMALL.terms), 1)
    tiny = np.zeros((4, 3), int)
    np.add.at(tiny, (TINY.documents, TINY.terms), 1)
    assert log_marginal(tiny, *H) == pytest.approx(log_m(TINY, 2, np.log(H)), abs=1e-10)
    top = log_marginal(counts, *EXACT)
    assert all(log_marginal(counts, *(EXACT * np.exp(away))) < top for away in ([0.05, 0.0], [0.0, -0.05]))


def found_once() -> score.Found:
    return score.score(SMALL, 2, sweeps=1000, chains=8, seed=1)


def test_the_ellipse_is_near_the_exact_answer() -> None:
    """Within five Monte Carlo deviations; their coverage is measured by the study."""
    found = found_once()
    away = np.log(found.h) - np.log(EXACT)
    assert found.ellipse is not None
    assert away @ np.linalg.solve(np.array(found.ellipse.log_covariance), away) < 25
    assert found.estimate.imprecision < 0.2
    summary = found.summary()
    assert summary["precision"] == found.estimate.imprecision
    assert np.allclose(np.log([[one["alpha"], one["eta"]] for one in summary["chains"]]).mean(axis=0), np.log(found.h))


def test_a_region_that_is_no_ellipse_is_a_level_set() -> None:
    """The top is sharp, but log m falls by 2.9 nats only down to alpha = 0.0001, exactly: the region is open below."""
    counts = np.zeros((16, 4), int)
    np.add.at(counts, (SMALL.documents, SMALL.terms), 1)
    top = log_marginal(counts, *EXACT)
    assert log_marginal(counts, 1e-4, 0.74) - top > -DEEP
    assert log_marginal(counts, 1.6, 0.168) - top > -DEEP > log_marginal(counts, 1.7, 0.168) - top
    found = found_once()
    told = found.region
    assert isinstance(told, Profile)
    assert told.ends()[0] is None
    assert 1.5 < told.ends()[1] < 1.8
    exact = np.array([log_marginal(counts, *np.exp(x)) for x in told.points])
    assert np.all(np.abs(told.log_m - (exact - exact[np.argmax(told.log_m)])) < 5 * told.errors + 0.05)
    (said,) = found.warnings
    assert said.startswith("The corpus does not bound alpha as an ellipse would")
    assert "no Monte Carlo ellipse" not in said
    chosen = Ellipse.around(found.h, np.linalg.inv(found.estimate.information), 5.99, 0.95)
    assert chosen is not None
    assert chosen.extent[0, 0] > 0.1  # which log m at 0.0001 contradicts


def test_a_region_that_is_nearly_an_ellipse_is_one() -> None:
    rng = np.random.default_rng(4)
    corpus = simulate_lda(documents=40, length=20, terms=6, topics=2, alpha=0.6, eta=0.3, rng=rng).corpus
    found = score.score(corpus, 2, sweeps=400, chains=4, seed=1)
    assert isinstance(found.region, Ellipse)
    assert np.any(np.log(found.region.extent[:, 1] / found.h) > STRIDE)  # its ends were looked at
    assert found.warnings == []


def test_the_tips_of_an_ellipse() -> None:
    """On its edge, and as far along their side as it reaches."""
    covariance = np.array([[0.09, 0.02], [0.02, 0.04]])
    one = Ellipse.around(np.array([0.5, 2.0]), covariance, 5.99, 0.95)
    assert one is not None
    away = one.tips - np.log(one.center)
    np.testing.assert_allclose(np.einsum("seK,KL,seL->se", away, np.linalg.inv(covariance), away), 5.99)
    np.testing.assert_allclose([np.exp(one.tips[side, :, side]) for side in range(2)], one.extent)
    assert not one.wide
    assert Ellipse.around(np.array([0.5, 2.0]), 16 * covariance, 5.99, 0.95).wide


HOW = {"sweeps": 100, "chains": 2, "seed": 3}


@pytest.mark.usefixtures("workers_here")
def test_same_bits_for_any_number_of_workers_and_after_a_death() -> None:
    alone = score.score(SMALL, 2, **HOW).summary()
    assert score.score(SMALL, 2, workers=2, **HOW).summary() == alone
    for one in resumed(lambda checkpoint: score.score(SMALL, 2, checkpoint=checkpoint, **HOW), at=(0, 0.5, 0.9)):
        assert one.summary() == alone


def test_precision_makes_the_chains_longer() -> None:
    """Longer until the deviation is small enough; the batches grow with the chains."""
    short = score.score(SMALL, 2, sweeps=200, chains=4, seed=5)
    precise = score.score(SMALL, 2, sweeps=200, chains=4, seed=5, precision=short.estimate.imprecision / 2)
    assert precise.estimate.imprecision <= short.estimate.imprecision / 2
    assert precise.scores.shape[1] > 2 * short.scores.shape[1]
    assert precise.estimate.count == short.estimate.count
    assert not any("Monte Carlo error" in said for said in precise.warnings)


def test_a_limit_ends_the_steps() -> None:
    """Of alpha, if eta hardly moves; not before alpha is there."""
    one = made_up(0.5, 0.02)
    assert score.Walk.at_the_limit(None, one, one.step, np.zeros(2))
    assert not score.Walk.at_the_limit(None, one, one.step, np.array([0.2, 0.0]))  # it can go on to 0.2
    assert not score.Walk.at_the_limit(None, one, one.step, one.step)
    assert not score.Walk.at_the_limit(None, one, np.array([0.5, 0.1]), np.array([0.0, 0.1]))
    assert score.Walk.at_the_limit(None, one, np.array([0.5, 0.05]), np.array([0.0, 0.05]))


def test_longer_chains_only_where_they_help() -> None:
    walk = score.Walk(np.zeros(2), [], legs=[[]])
    assert walk.longer(made_up(0.0, 0.02, clearness=1.1), None, 500)  # eight times as long, it may be 3.1
    assert not walk.longer(made_up(0.0, 0.02, clearness=1.0), None, 500)
    assert not walk.longer(made_up(0.0, 0.02), None, 500)
    assert walk.longer(made_up(0.0, 0.02), 0.09, 500)
    assert not walk.longer(made_up(0.0, 0.02), 0.11, 500)
    assert walk.longer(made_up(0.0, 0.02), 0.11, 499)
    assert not walk.longer(made_up(0.0, 0.02), None, 499)
    walk.legs = [[]] * 8
    assert not walk.longer(made_up(0.0, 0.02, clearness=2.9), None, 500)


def test_a_precision_out_of_reach_is_given_up() -> None:
    """An error of 0.1 falls to 0.01 in a hundred times the sweeps: more than 64 rounds, from the second on."""
    rounds = {1: True, 3: True, 4: False, 63: False}
    for number, goes_on in rounds.items():
        walk = score.Walk(np.zeros(2), [], legs=[[]] * number)
        assert walk.longer(made_up(0.0, 0.02), 0.01, 500) == goes_on
    walk = score.Walk(np.zeros(2), [], legs=[[]] * 4)
    assert walk.longer(made_up(0.0, 0.02), 0.0126, 500)  # 252 rounds, but the error is not known so well
    assert not walk.longer(made_up(0.0, 0.02), 0.0124, 500)
    walk.legs = [[]] * 64
    assert not walk.longer(made_up(0.0, 0.02), 0.09, 500)
    assert several.within_reach(None, 0.1, 7)
    assert not several.within_reach(None, 0.1, 8)


# -- where log m is flat ---------------------------------------------------------------------------------


def rungs(x: np.ndarray, top: np.ndarray, information: np.ndarray, noise: np.ndarray) -> list[Rung]:
    """Of a log m that is quadratic, seen by two chains with noise."""
    return [
        Rung(one, np.array([(top - one) @ information + noise, (top - one) @ information - noise]), information, [])
        for one in x
    ]


def test_the_profile_of_a_quadratic_is_exact() -> None:
    """However the path runs: the integral, and what the ridge is higher."""
    information, top = np.array([[2.0, 1.0], [1.0, 9.0]]), np.array([0.3, -0.2])
    x = np.array([[-2.5, 0.3], [-1.0, 0.4], [0.3, -0.2], [0.9, -0.1], [3.0, -1.5]])
    found = profile(rungs(x, top, information, np.array([0.1, 0.0])), 0)
    along = information[0, 0] - information[0, 1] ** 2 / information[1, 1]  # across the ridge, it is at its best
    np.testing.assert_allclose(found.log_m, -along / 2 * (x[:, 0] - top[0]) ** 2, atol=1e-12)
    np.testing.assert_allclose(found.points[:, 1], top[1] - information[0, 1] / 9 * (x[:, 0] - top[0]))
    np.testing.assert_allclose(found.errors, 0.1 * np.abs(x[:, 0] - top[0]), atol=1e-12)
    assert found.closed == (True, True)
    low, high = found.ends()
    assert low is not None
    assert high is not None
    half = np.sqrt(2 * DEEP / along)
    np.testing.assert_allclose([low, high], np.exp([top[0] - half, top[0] + half]))
    assert not found.narrow
    assert "hardly determines alpha" in found.warnings()[0]
    open_above = profile(rungs(x[:4], top, information, np.array([0.1, 0.0])), 0)
    assert open_above.closed == (True, False)
    assert open_above.ends()[1] is None
    assert open_above.summary()["alpha"][1] is None
    assert "to above 2.46" in open_above.warnings()[0]


def test_a_narrow_level_set_is_not_called_flat() -> None:
    information, top = np.diag([400.0, 900.0]), np.array([0.3, -0.2])
    x = top + np.array([[-0.35, 0.0], [0.0, 0.0], [0.35, 0.0]])
    found = profile(rungs(x, top, information, np.array([0.1, 0.0])), 0)
    half = np.sqrt(2 * DEEP / 400.0)
    np.testing.assert_allclose(found.ends(), np.exp([top[0] - half, top[0] + half]))
    assert found.narrow
    assert "too short to tell how sharp" in found.warnings()[0]


def test_chains_in_different_modes_each_tell_how_sharp_the_top_is() -> None:
    """The variance between modes would hide it; a single mode with the same variance is flat."""
    rng = np.random.default_rng(1)
    bends = np.broadcast_to(-4 * np.eye(2), (4, 8, 2, 2))

    def walk(scores: np.ndarray) -> score.Walk:
        legs = [Leg(one, bend, score.NOTHING) for one, bend in zip(scores, bends, strict=True)]
        return score.Walk(np.zeros(2), [], legs=[legs])

    modes = np.array([[-3.0, 0.0], [3.0, 0.0], [-3.0, 0.0], [3.0, 0.0]])[:, None]
    found = walk(modes + rng.normal(size=(4, 800, 2))).estimate(np.ones(2, bool))
    assert found.clear
    assert found.count == 4
    assert found.agreement is not None
    assert found.agreement < score.MODES
    np.testing.assert_allclose(found.information, 3 * np.eye(2), atol=0.2)
    deviation = np.sqrt(12 / 4) / 3  # of the mean of four chains at -3 and 3, through the information
    np.testing.assert_allclose(np.sqrt(found.covariance[0, 0]), deviation, rtol=0.1)
    one_mode = walk(rng.permuted(modes + rng.normal(size=(4, 800, 2)), axis=0)).estimate(np.ones(2, bool))
    assert not one_mode.clear


def test_a_flat_corpus_has_a_level_set_and_no_ellipse() -> None:
    """Against enumeration along the ridge: within five errors, and the curve that the trapezoids miss."""
    flat = tiny_corpus([[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], 3)
    found = score.score(flat, 2, sweeps=500, chains=4, seed=2)
    assert isinstance(found.region, Profile)
    assert found.ellipse is None
    assert any("hardly determines" in one for one in found.warnings)
    told = found.region
    exact = np.array([log_m(flat, 2, x) for x in told.points])
    top = int(np.argmax(told.log_m))
    allowed = 5 * told.errors + 0.03
    assert np.all(np.abs(told.log_m - (exact - exact[top])) < allowed)
    assert np.any(exact[top] - exact > allowed)  # a profile that is constant would be seen
    summary = found.summary()
    assert summary["ellipse"] is None
    assert summary["precision"] is None
    assert None in summary["region"]["alpha"] + summary["region"]["eta"]


def test_a_corpus_with_large_alpha_and_eta_has_the_truth_in_its_level_set() -> None:
    """As the corpus lda-8-high-high, with a quarter of its documents: hardly anything is known of alpha from above."""
    rng = np.random.default_rng(1)
    corpus = simulate_lda(documents=100, length=80, terms=40, topics=8, alpha=4.0, eta=4.0, rng=rng).corpus
    found = score.score(corpus, 8, sweeps=200, chains=4, seed=1)
    assert found.ellipse is None
    region = found.summary()["region"]
    assert region["alpha"][0] is None or region["alpha"][0] < 4
    assert region["alpha"][1] is None or region["alpha"][1] > 4
    assert region["eta"][0] < 4 < region["eta"][1]


# -- what is said ----------------------------------------------------------------------------------------


def test_chains_that_disagree_are_told_and_count_alone() -> None:
    """Four chains, one in another mode: the warning, and the error from the means of the chains."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(4, 800, 2))
    bends = np.broadcast_to(-4 * np.eye(2), (4, 8, 2, 2))
    same = estimate(np.zeros(2), scores, bends)
    scores[3] += 1.0
    apart = estimate(np.zeros(2), scores, bends)
    assert (same.count, apart.count) == (32, 4)
    assert same.agreement is not None
    assert same.agreement > 0.01
    assert apart.agreement is not None
    assert apart.agreement < 1e-6
    assert np.all(np.diag(apart.covariance) > 10 * np.diag(same.covariance))
    assert "disagree" in score._doubts(4, apart, None, False, None)[0]


def made_up(step: float, deviation: float, information: float = 25.0, clearness: float = 10.0) -> Estimate:
    return Estimate(
        np.zeros(2),
        np.zeros(2),
        information * np.eye(2),
        information * np.eye(2),
        clearness,
        np.array([step, 0.0]),
        deviation**2 * np.eye(2),
        32,
        0.5,
        np.zeros((4, 2)),
    )


def test_chains_that_do_not_vary() -> None:
    """As where only one term is used: the gradient has no Monte Carlo error, and no number is divided by it."""
    flat = estimate(np.zeros(2), np.zeros((4, 80, 2)), np.zeros((4, 8, 2, 2)))
    assert (flat.clear, flat.settled) == (False, True)
    np.testing.assert_array_equal(flat.step, 0.0)
    sharp = estimate(np.zeros(2), np.ones((4, 80, 2)), np.broadcast_to(-4 * np.eye(2), (4, 8, 2, 2)))
    assert (sharp.clear, sharp.settled) == (True, False)
    np.testing.assert_allclose(sharp.step, 0.25)
    assert sharp.imprecision < 1e-8


def test_when_steps_end() -> None:
    """A region of deviation 0.2; a step within 2.6 Monte Carlo deviations, or so short that its square is."""
    assert made_up(0.05, 0.02).settled
    assert made_up(0.1, 0.02).imprecision == pytest.approx(0.1)
    # 0.15 deviations of h: half its square is 0.011 of them, less than a quarter of the Monte Carlo error, 0.05
    assert made_up(0.03, 0.01).settled
    assert not made_up(0.06, 0.02).settled
    assert not made_up(0.03, 0.01, clearness=2.0).settled
    assert score._flat(made_up(0.0, 0.1, clearness=2.9))
    assert not score._flat(made_up(0.0, 0.1, clearness=3.1))
    assert score._flat(made_up(0.0, 0.1, information=1.1))
    assert not score._flat(made_up(0.0, 0.1, information=1.2))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"sweeps": 99}, "at least 100 sweeps"),
        ({"chains": 0}, "0 chains"),
        ({"precision": 1.5}, "between 0 and 1"),
        ({"shape": (3, 3)}, "has no grid"),
        ({"alphas": (2.0, 1.0)}, "range of alpha"),
    ],
)
def test_refused(how: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        score.score(SMALL, 2, **({"sweeps": 100, "chains": 2} | how))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(SMALL, tmp_path / "small.ldac")
    words = ["hyper", str(tmp_path / "small.ldac"), "--topics", "2", "--sweeps", "200", "--workers", "1"]
    assert main([*words, "--method", "score", "--sampler", "sparse", "--json", "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"alpha", "eta", "ellipse", "region", "agreement", "precision", "chains", "path", "warnings"} == set(found)
    assert (tmp_path / "out" / "trace.parquet").exists()
    assert main([*words, "--method", "score", "--alpha-range", "1,2"]) == 0
    text = capsys.readouterr().out
    assert "end of its range" in text
    assert "ellipse  unknown" in text
    assert main([*words, "--method", "gibbs-em", "--precision", "0.1"]) == 2
    assert "leave out --precision" in capsys.readouterr().err
