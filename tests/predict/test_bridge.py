"""Leave-one-out score by the bridge: exact by enumeration, coverage of its error, adaptive draws, workers, kills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm
from scipy.stats import t as student

import oracle
from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import insertion, lanes
from bayestopics.lda.lanes import CHAINS
from bayestopics.lda.state import Prior
from bayestopics.predict import bridge
from bayestopics.predict.bridge import Bridge, estimate, jackknife, works
from bayestopics.predict.leave_one_out import LeaveOneOutScore, bridged, score
from dying import Dying, resumed

FALSE_ALARM = 1e-6  # of each statistical assertion, over seeds
TINY = oracle.tiny_corpus([[0, 0, 1], [1, 2, 2], [0, 0, 1]], 3)
PRIOR = Prior((0.3, 0.8), 0.2)
SPARSE = Prior(0.1, 0.05)


def exact_log_likelihood(corpus: Corpus, document: int, prior: Prior) -> float:
    """L(d) = m(w) / m(w_-d)."""
    rest = corpus.select_tokens(corpus.documents != document)
    evidence = [oracle.enumerate_all(part, 2, prior).log_evidence for part in (corpus, rest)]
    return evidence[0] - evidence[1]


def some_words(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64)


# -- paths -----------------------------------------------------------------------------------------


def weights(corpus: Corpus, d: int, prior: Prior, steps: int, repeats: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-weights of ways in and out, from exact draws of the topics at both ends."""
    rng, kept = np.random.default_rng(seed), corpus.documents != d
    parts, found = (corpus.select_tokens(kept), corpus), ([], [])
    laws = [oracle.enumerate_all(part, 2, prior) for part in parts]
    factors = insertion.ladder(prior.alpha_vector(2), int(corpus.document_lengths[d]), steps)
    whole = lanes.init(corpus, [2], prior, [np.zeros(corpus.token_count, np.int32)])
    for _ in range(repeats):
        draws = [law.assignments[rng.choice(len(law.posterior), size=CHAINS, p=law.posterior)] for law in laws]
        without, with_it = (
            lanes.init(part, [2] * CHAINS, prior, list(draw.astype(np.int32)))
            for part, draw in zip(parts, draws, strict=True)
        )
        found[0].append(insertion.put_in(without, insertion.traveller(corpus, d, whole, rng), factors, some_words(rng)))
        own = insertion.traveller(corpus, d, with_it, rng)
        found[1].append(insertion.take_out(with_it, own, factors, some_words(rng)))
    return np.ravel(found[0]), np.ravel(found[1])


@pytest.mark.parametrize("prior", [PRIOR, SPARSE, Prior(5.0, 0.3)], ids=str)
@pytest.mark.parametrize("steps", [1, 6])
def test_weights_are_unbiased_on_both_ways(prior: Prior, steps: int) -> None:
    """E exp(F) = L(d), E exp(-B) = 1 / L(d), and E h(F) exp(F) = L(d) E h(B) for h = tanh [Crooks]."""
    exact = exact_log_likelihood(TINY, 1, prior)
    forward, backward = (logs - exact for logs in weights(TINY, 1, prior, steps, 80, seed=1))
    limit = norm.isf(FALSE_ALARM / 2)
    for ratios in (np.exp(forward), np.exp(-backward)):
        assert abs(ratios.mean() - 1) < limit * ratios.std(ddof=1) / np.sqrt(len(ratios))
    pair = np.tanh(forward) * np.exp(forward), np.tanh(backward)
    error = np.sqrt(sum(np.var(part, ddof=1) / len(part) for part in pair))
    assert abs(pair[0].mean() - pair[1].mean()) < limit * error


def test_a_path_without_its_last_step_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alpha then ends above its value: the weights are those of another model."""
    exact = exact_log_likelihood(TINY, 1, SPARSE)
    usual = insertion.ladder
    monkeypatch.setattr(insertion, "ladder", lambda *given: usual(*given)[:-1])
    ratios = np.exp(weights(TINY, 1, SPARSE, 2, 200, seed=1)[0] - exact)
    assert abs(ratios.mean() - 1) > 2 * norm.isf(FALSE_ALARM / 2) * ratios.std(ddof=1) / np.sqrt(len(ratios))


def test_counts_after_a_way_out_and_in() -> None:
    corpus = simulate_lda(8, 12, 10, 3, 0.3, 0.2, np.random.default_rng(1)).corpus
    rng, prior = np.random.default_rng(2), Prior(0.3, 0.2)
    starts = list(rng.integers(3, size=(CHAINS, corpus.token_count), dtype=np.int32))
    state = lanes.init(corpus, [3] * CHAINS, prior, starts)
    own, factors = insertion.traveller(corpus, 5, state, rng), insertion.ladder(prior.alpha_vector(3), 12, 7)
    gone = lanes.copied(state)
    insertion.take_out(gone, own, factors, some_words(rng))
    kept = corpus.documents != 5
    rest = lanes.init(corpus.select_tokens(kept), [3] * CHAINS, prior, [start[kept] for start in starts])
    insertion.put_in(gone, own, factors, some_words(rng))
    assert not np.array_equal(gone.term_topic, rest.term_topic)
    terms = np.concatenate([rest.terms, own.terms]).astype(np.int64)
    for chain in range(CHAINS):
        topics = np.concatenate([rest.assignments[:, chain], own.assignments[:, chain]])
        counts = np.zeros((corpus.term_count, 3), int)
        np.add.at(counts, (terms, topics), 1)
        assert_array_equal(gone.term_topic.reshape(-1, 3, CHAINS)[:, :, chain], counts)
        assert_array_equal(gone.topic_total.reshape(3, CHAINS)[:, chain], counts.sum(axis=0))
        of_own = np.bincount(own.assignments[:, chain], minlength=3)
        assert_array_equal(gone.document_topic.reshape(-1, 3, CHAINS)[5, :, chain], of_own)


def test_the_ladder_goes_down_to_alpha() -> None:
    assert_allclose(insertion.ladder(np.array([0.5, 0.25]), 100, 2), [40.0, np.sqrt(40.0), 1.0])
    assert insertion.ladder(np.array([30.0]), 100, 2).tolist() == [1.0]


# -- the exact score -------------------------------------------------------------------------------


def run(corpus: Corpus = TINY, prior: Prior = PRIOR, **options: Any) -> LeaveOneOutScore:
    few = {"sweeps": 5, "burn_in": 20, "thin": 5, "steps": 5, "forget": 30, "tolerance": 0.0}
    return score(corpus, 2, prior, **(few | options))


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
def test_right_within_its_error(sampler: str) -> None:
    """Chains side by side, and chains one by one."""
    draws = {"single-site": 30, "sparse": 4}[sampler]
    result = run(sampler=sampler, sweeps=5 * draws, chains=24, seed=1)
    exact = np.array([exact_log_likelihood(TINY, d, PRIOR) for d in range(3)])
    limit = student.isf(FALSE_ALARM / 2, 23)
    errors = np.array([row.standard_error for row in result.documents])
    assert np.all((errors > 0) & (errors < 1.2 / np.sqrt(draws)))
    assert np.all(np.abs([row.log_likelihood for row in result.documents] - exact) < limit * errors)
    assert result.standard_error is not None
    assert abs(result.log_score - exact.mean()) < limit * result.standard_error
    assert_allclose(result.perplexity, np.exp(-result.log_score * 3 / 9), rtol=1e-13)
    assert result.sampling_error == 0
    assert result.warnings == []


def test_a_chain_that_has_not_forgotten_is_caught() -> None:
    """The ways in then start from p(z_-d | w), and their weights are too high."""
    prior, distances = Prior(0.3, 0.01), []
    exact = exact_log_likelihood(TINY, 1, prior)
    for forget in (40, 0):
        plan = Bridge(TINY, 2, prior, "single-site", forget, 5, seed=1)
        work: dict[str, Any] = {"tolerance": 0.0, "workers": 1, "checkpoint": NoCheckpoint()}
        forward = np.array(works(plan, [1], range(20, 220, 10), 4, **work)[1])[:, 0]
        ratios = np.exp(forward - exact).mean(axis=0)  # of each chain
        distances.append((ratios.mean() - 1) / (ratios.std(ddof=1) / np.sqrt(len(ratios))))
    limit = student.isf(FALSE_ALARM / 2, 31)
    assert abs(distances[0]) < limit
    assert distances[1] > 2 * limit


def test_the_error_covers() -> None:
    """With few draws, 95 % intervals hold the truth in at least 95 % of runs, as far as 20 runs can tell."""
    exact = [exact_log_likelihood(TINY, d, SPARSE) for d in range(3)]
    limit, covered = student.isf(0.025, 15), np.zeros(4)
    for seed in range(20):
        result = run(prior=SPARSE, seed=seed, sweeps=1, thin=1)
        for d, row in enumerate(result.documents):
            assert row.standard_error is not None
            covered[d] += abs(row.log_likelihood - exact[d]) < limit * row.standard_error
        assert result.standard_error is not None
        covered[3] += abs(result.log_score - np.mean(exact)) < limit * result.standard_error
    assert np.all(covered >= binom.ppf(FALSE_ALARM, 20, 0.95))


def test_one_topic_has_a_closed_form() -> None:
    result = score(TINY, 1, Prior(0.5, 0.2), sweeps=4, thin=2, burn_in=0)
    eta, counts = np.full(3, 0.2), TINY.counts.toarray()
    for row in result.documents:
        whole, rest = counts.sum(axis=0), counts.sum(axis=0) - counts[row.document]
        exact = oracle.log_dirichlet_multinomial(whole, eta) - oracle.log_dirichlet_multinomial(rest, eta)
        assert_allclose([row.log_likelihood, row.lower, row.upper], exact, rtol=1e-11)
        assert row.standard_error == pytest.approx(0, abs=1e-10)


def test_a_single_document_has_no_others() -> None:
    """L(d) = m(w); an empty document has L(d) = 1, and counts as a document."""
    corpus, prior = oracle.tiny_corpus([[], [0, 1, 1]], 2), Prior(0.4, 1.5)
    result = run(corpus, prior, sweeps=50, forget=0, seed=3)
    empty, full = result.documents
    assert (empty.tokens, empty.log_likelihood, empty.standard_error) == (0, 0, 0)
    assert full.standard_error is not None
    exact = oracle.enumerate_all(corpus, 2, prior).log_evidence
    assert abs(full.log_likelihood - exact) < student.isf(FALSE_ALARM / 2, 15) * full.standard_error
    assert_allclose(result.log_score, full.log_likelihood / 2, rtol=1e-14)


# -- errors, warnings, how many draws ----------------------------------------------------------------


def test_estimate_by_hand() -> None:
    """Bennett's ratio of two weights each; the jackknife over two chains; the bounds are 1 + log cosh apart."""
    made = [np.array([[-1.0, 1.0], [1.0, 3.0]])]  # F, B: symmetric about 1
    found = estimate(made)
    assert_allclose(found.log_likelihood, 1.0)
    assert_allclose(found.without, [2.0, 0.0])
    gap = 2 - 2 * np.log(np.cosh(1.0))
    assert_allclose([found.lower, found.upper], [1 - gap / 2, 1 + gap / 2])
    assert_allclose(found.gap_error, gap / np.sqrt(12))
    assert_allclose(found.error, np.hypot(1.0, gap / np.sqrt(12)))
    assert_allclose(jackknife(np.array([3.0, 1.0, 2.0])), 2 * np.std([1.0, 2.0, 3.0]) / np.sqrt(2))
    assert estimate(made * 3).log_likelihood == pytest.approx(1.0)


def test_errors_of_documents_that_share_chains_add_up() -> None:
    """One chain is high for all documents: the error of the mean is that of each."""
    made = [np.array([[0.1, 0.2, 0.3, 2.0], [0.1, 0.2, 0.3, 2.0]])]
    alike = bridged(TINY, {d: estimate(made) for d in range(3)})
    gaps = alike.documents[0].upper - alike.documents[0].lower  # type: ignore[operator]
    shared = jackknife(estimate(made).without)
    assert_allclose(alike.standard_error, np.hypot(shared, abs(gaps) / np.sqrt(12 * 3)))
    mixed = {d: estimate([np.roll(made[0], d, axis=1)]) for d in range(3)}
    assert bridged(TINY, mixed).standard_error < alike.standard_error  # type: ignore[operator]


def test_wide_bounds_are_said() -> None:
    narrow, wide = [np.zeros((2, 2))], [np.array([[-30.0, -30.0], [30.0, 30.0]])]
    result = bridged(TINY, {0: estimate(narrow), 1: estimate(wide), 2: estimate(narrow)})
    assert len(result.warnings) == 1
    assert "For 1 of 3 documents the bounds" in result.warnings[0]
    assert "at most 60 nats" in result.warnings[0]
    assert (result.lower, result.upper) == (pytest.approx(-10.0), pytest.approx(10.0))
    crossed = [np.array([[0.0, 20.0], [0.0, 20.0]])]
    result = bridged(TINY, {0: estimate(crossed), 1: estimate(crossed), 2: estimate(narrow)})
    assert ["For 2 of 3 documents the lower bound" in warning for warning in result.warnings] == [True]
    assert "at most by 19 nats" in result.warnings[0]


def test_documents_with_a_large_error_get_more_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is decided after 1, 2 and 4 draws. The weights of document d scatter by d / 2."""
    noise = np.random.default_rng(1).normal(size=(7, 2, CHAINS))
    seen: list[int] = []

    def made_up(plan: Bridge, starts: Any, draw: int, documents: Any) -> dict[int, np.ndarray]:
        seen.append(draw)
        return {d: d / 2 * noise[draw] for d in documents}

    monkeypatch.setattr(bridge, "log_weights", made_up)
    plan = Bridge(TINY, 2, PRIOR, "single-site", 1, 1, seed=1)
    for tolerance in (0.0, 0.2, 0.3, 10.0):
        seen.clear()
        found = works(plan, range(9), range(1, 8), 1, tolerance=tolerance, workers=1, checkpoint=NoCheckpoint())
        for d, parts in found.items():
            enough = [n for n in (1, 2, 4) if estimate(d / 2 * noise[:n]).error <= tolerance]
            assert len(parts) == min([*enough, 7])
        assert sorted(set(seen)) == list(range(max(map(len, found.values()))))
    assert len(found[8]) == 1


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"thin": 6}, "thin must be from 1 to the number of sweeps"),
        ({"chains": 12}, "a multiple of 8 chains, not 12"),
        ({"chains": 0}, "a multiple of 8 chains"),
        ({"steps": 0}, "at least 1 step"),
        ({"forget": -1}, "cannot be negative"),
        ({"tolerance": float("nan")}, "cannot be negative"),
        ({"estimator": "mean"}, "unknown estimator 'mean'"),
        ({"sampler": "gibbs"}, "unknown sampler"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        run(**options)


# -- the same bits ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("workers_here")
def test_workers_do_not_change_a_bit() -> None:
    corpus = simulate_lda(6, 9, 10, 3, 0.3, 0.2, np.random.default_rng(7), poisson=True).corpus
    options: dict[str, Any] = {"sweeps": 20, "forget": 3, "chains": 8, "tolerance": 0.3, "seed": 8}
    one, two = (run(corpus, **options, workers=workers) for workers in (1, 2))
    assert one == two
    part = run(corpus, **options, documents=[4, 2])
    assert part.documents == [one.documents[2], one.documents[4]]  # whichever others are left out
    assert run(corpus, **(options | {"seed": 9})) != one


@pytest.mark.parametrize("sampler", ["single-site", "grouped"])
def test_a_killed_score_goes_on_where_it_was(sampler: str) -> None:
    corpus = simulate_lda(6, 6, 9, 3, 0.3, 0.3, np.random.default_rng(1)).corpus

    def short(checkpoint: Dying | None) -> LeaveOneOutScore:
        work: dict[str, Any] = {"sweeps": 6, "thin": 2, "forget": 1, "chains": 8, "tolerance": 0.4, "burn_in": 2}
        return run(corpus, sampler=sampler, checkpoint=checkpoint, seed=2, **work)

    whole = short(None)
    for again in resumed(short, at=(0, 0.4, 0.8)):
        assert again == whole


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "tiny.ldac"
    size = ["--documents", "8", "--length", "6", "--terms", "5", "--topics", "2"]
    assert main(["corpus", "simulate", *size, "--out", str(file)]) == 0
    return file


def command(path: Path, *options: object) -> int:
    short = ["--topics", 2, "--sweeps", 4, "--burn-in", 5, "--thin", 2, "--workers", 1, "--method", "leave-one-out"]
    return main([*map(str, ["score", path, *short, *options])])


def test_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    options = ("--chains", 8, "--forget", 2, "--steps", 3, "--tolerance", 1)
    assert command(path, "--json", "--documents", "3,1", *options) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["document"] for row in answer["documents"]] == [1, 3]
    assert {"log_score", "standard_error", "perplexity", "sampling_error", "lower", "upper"} <= set(answer)
    names = {"document", "tokens", "log_likelihood", "standard_error", "lower", "upper"}
    assert set(answer["documents"][0]) == names
    assert command(path, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["mean log probability of a document (nats)", "its Monte Carlo standard error"]
    names += ["its error from the choice of documents", "perplexity per word"]
    names += ["its lower bound, up to noise", "its upper bound, up to noise"]
    assert [line.split("  ")[0] for line in lines[:6]] == names
