"""Leave-one-out score by left-to-right: exact by enumeration on a tiny corpus, errors, warnings, workers, commands."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, norm
from scipy.stats import t as student

import oracle
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import lanes, single_site
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.state import LARGEST, SMALLEST, Prior, State, from_assignments
from bayestopics.predict import leave_one_out
from bayestopics.predict.bridge import split
from bayestopics.predict.leave_one_out import (
    BATCHES,
    BETAS,
    LeaveOneOutScore,
    Plan,
    choose,
    draw_log_beta,
    estimates_of,
    lag_one_correlation,
    leave_out,
    log_error,
    summary,
)
from dying import Died, Dying, resumed

score = partial(leave_one_out.score, estimator="left-to-right")
FALSE_ALARM = 1e-6  # of each statistical assertion, over seeds
LIMIT = student.isf(FALSE_ALARM / 2, BATCHES - 1)
Capture = pytest.CaptureFixture[str]

TINY = oracle.tiny_corpus([[0, 0, 1], [1, 2, 2], [0, 0, 1]], 3)
PRIOR = Prior((0.3, 0.8), 0.2)


def exact_log_likelihood(corpus: Corpus, document: int, prior: Prior) -> float:
    """L(d) = m(w) / m(w_-d)."""
    rest = corpus.select_tokens(corpus.documents != document)
    evidence = [oracle.enumerate_all(part, 2, prior).log_evidence for part in (corpus, rest)]
    return evidence[0] - evidence[1]


EXACT = np.array([exact_log_likelihood(TINY, d, PRIOR) for d in range(3)])


def run(**options: Any) -> LeaveOneOutScore:
    chain = {"sweeps": 4000, "burn_in": 50, "thin": 2, "particles": 4, "seed": 1}
    return score(TINY, 2, PRIOR, **(chain | options))


def deviations(result: LeaveOneOutScore) -> np.ndarray:
    """From the exact log L(d), in standard errors; all errors are small enough for the comparison to say much.

    They are 0.023 and less on average after 16,000 sweeps, and 20 batches make that 0.05 once in 10^11 runs.
    """
    errors = np.array([row.standard_error for row in result.documents])
    assert np.all((errors > 0) & (errors < 0.05))
    return np.abs([row.log_likelihood for row in result.documents] - EXACT) / errors


# -- the exact score -------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
@pytest.mark.parametrize("warm_up", [0, 20], ids=["fresh", "warm"])
@pytest.mark.parametrize("beta", BETAS)
def test_right_within_its_error(beta: str, warm_up: int, sampler: str) -> None:
    """Chains side by side, and chains one by one."""
    result = run(beta=beta, warm_up=warm_up, sampler=sampler, sweeps=16_000)
    assert np.all(deviations(result) < LIMIT)
    assert result.standard_error is not None
    assert abs(result.log_score - EXACT.mean()) < LIMIT * result.standard_error
    assert_allclose(result.perplexity, np.exp(-result.log_score * 3 / 9), rtol=1e-13)
    assert result.sampling_error == 0
    assert not any("weight" in warning or "scatter" in warning for warning in result.warnings)


def log_beta_mean(state: State, terms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.log((state.term_topic[terms] + state.eta) / (state.topic_total + 3 * state.eta))


def test_the_mean_of_beta_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word three times, and in no other document: E[beta^3] is far from E[beta]^3."""
    corpus = oracle.tiny_corpus([[0, 0, 1], [2, 2, 2], [0, 1]], 3)
    exact, distances = exact_log_likelihood(corpus, 1, PRIOR), []
    for draw in (draw_log_beta, log_beta_mean):
        monkeypatch.setattr(leave_one_out, "draw_log_beta", draw)
        row = score(corpus, 2, PRIOR, sweeps=10_000, thin=1, beta="drawn", documents=[1]).documents[0]
        assert row.standard_error is not None
        distances.append(abs(row.log_likelihood - exact) / row.standard_error)
    assert distances[0] < LIMIT
    assert distances[1] > 2 * LIMIT


def test_a_chain_that_has_seen_the_document_is_caught() -> None:
    """A warm start needs burn-in: one sweep after p(z | all documents) the estimates are too high, 30 later not."""
    prior = Prior(0.3, 0.01)
    whole, exact = oracle.enumerate_all(TINY, 2, prior), exact_log_likelihood(TINY, 1, prior)
    starts = np.random.default_rng(2).choice(len(whole.posterior), size=800, p=whole.posterior)
    distances = []
    for burn_in in (30, 0):
        plan = Plan(
            TINY, 2, prior, "single-site", sweeps=1, burn_in=burn_in, thin=1, particles=20, beta=BETAS[0], seed=0
        )
        chains = [replace(plan, seed=seed, start=whole.assignments[row]) for seed, row in enumerate(starts)]
        ratios = np.exp([estimates_of(chain, [1])[1][0] - exact for chain in chains])
        distances.append((ratios.mean() - 1) / (ratios.std(ddof=1) / np.sqrt(len(ratios))))
    limit = norm.isf(FALSE_ALARM)
    assert distances[0] < limit
    assert distances[1] > 2 * limit


def test_one_topic_has_a_closed_form() -> None:
    """T = 1 and beta integrated out: every estimate is m(w) / m(w_-d)."""
    result = score(TINY, 1, Prior(0.5, 0.2), sweeps=4, thin=2, burn_in=0)
    eta = np.full(3, 0.2)
    counts = TINY.counts.toarray()
    for row in result.documents:
        whole, rest = counts.sum(axis=0), counts.sum(axis=0) - counts[row.document]
        exact = oracle.log_dirichlet_multinomial(whole, eta) - oracle.log_dirichlet_multinomial(rest, eta)
        assert_allclose(row.log_likelihood, exact, rtol=1e-13)
        assert row.standard_error == pytest.approx(0, abs=1e-13)


def test_rounding_is_no_correlation() -> None:
    """With one topic all estimates are alike, but for the order of their sums."""
    batches = [np.array([-40.0, -40.0, -40.0 + 1e-14, -40.0 + 1e-14])]
    assert lag_one_correlation(batches) == 0.0
    assert lag_one_correlation([1e13 * (batches[0] + 40.0)]) > 0.2
    corpus = oracle.random_corpus(np.random.default_rng(1), 180, 12, 8)
    assert score(corpus, 1, Prior(0.4, 0.3), sweeps=10, thin=2, burn_in=0).warnings == []


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
@pytest.mark.parametrize("beta", BETAS)
def test_a_single_document_has_no_others(beta: str, sampler: str) -> None:
    """L(d) = m(w); an empty document has L(d) = 1, and counts as a document."""
    corpus = oracle.tiny_corpus([[], [0, 1, 1]], 2)
    prior = Prior(0.4, 1.5)
    result = score(corpus, 2, prior, sampler=sampler, sweeps=8000, thin=1, particles=2, beta=beta)
    empty, full = result.documents
    assert (empty.tokens, empty.log_likelihood, empty.standard_error) == (0, 0, 0)
    assert full.standard_error is not None
    exact = oracle.enumerate_all(corpus, 2, prior).log_evidence
    assert abs(full.log_likelihood - exact) < LIMIT * full.standard_error
    assert_allclose(result.log_score, full.log_likelihood / 2, rtol=1e-14)


def test_draws_of_some_terms_are_those_of_a_dirichlet() -> None:
    """Mean a / A and variance a (A - a) / (A^2 (A + 1)) of beta, with and without other terms."""
    state = from_assignments(TINY, 2, PRIOR, np.array([0, 1, 1, 0, 0, 1, 0, 0, 0]))
    rng, draws = np.random.default_rng(3), 4000
    for terms in ([2, 0], [0, 1, 2]):
        beta = np.exp([draw_log_beta(state, np.array(terms), rng) for _ in range(draws)])
        shape, total = state.term_topic[terms] + PRIOR.eta, state.topic_total + 3 * PRIOR.eta
        mean, variance = shape / total, shape * (total - shape) / (total**2 * (total + 1))
        # fourth moments of a beta variable stay below those of two points: variance of (x - mean)^2 <= variance
        assert np.all(np.abs(beta.mean(axis=0) - mean) < 6 * np.sqrt(variance / draws))
        assert np.all(np.abs(((beta - mean) ** 2).mean(axis=0) - variance) < 6 * np.sqrt(variance / draws))


# -- chains side by side -----------------------------------------------------------------------------


def moderate() -> Corpus:
    """30 documents of 12 words on average, of 20 terms; the first, one between and the last have none."""
    rng = np.random.default_rng(10)
    rows = np.setdiff1d(np.arange(1, 29), [7])[rng.integers(27, size=360)]
    return Corpus.from_counts(rows, rng.integers(20, size=360), np.ones(360, int), document_count=30, term_count=20)


PRIORS = [Prior((0.1, 0.5, 2.0), 0.02), Prior(SMALLEST, SMALLEST), Prior(LARGEST, LARGEST)]
GROUPS = [[3], [28, 1, 5], [1, 2, 3, 8, 13, 20, 27, 28], [4, 7, 0]]  # alone, fewer than eight, eight, empty ones


def left_out(data: Corpus, topics: int, prior: Prior, documents: list[int]) -> Lanes:
    starts = np.random.default_rng(11).integers(topics, size=(len(documents), data.token_count), dtype=np.int32)
    return leave_out(data, topics, prior, list(starts), documents)


def some_words(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64)


@pytest.mark.parametrize("documents", GROUPS, ids=str)
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_each_chain_is_one_on_the_other_documents(prior: Prior, documents: list[int]) -> None:
    """Its log g is that of `single_site` on the corpus without the document, whose words stay in their own topic."""
    data = moderate()
    state, topics = left_out(data, 3, prior, documents), 3
    for step in range(4):
        before = state.assignments.copy()
        log_g = lanes.sweep(state, some_words(step))
        for chain, document in enumerate(documents):
            own, after = data.documents == document, state.assignments[:, chain]
            assert_array_equal(after == topics, own)
            rest = from_assignments(data.select_tokens(~own), topics, prior, before[~own, chain])
            expected = single_site.transition_density(rest, after[~own])
            assert_allclose(log_g[chain], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("documents", GROUPS, ids=str)
def test_the_counts_are_those_of_the_other_documents(documents: list[int]) -> None:
    data, topics = moderate(), 3
    state = left_out(data, topics, PRIORS[0], documents)
    for step in range(10):
        lanes.sweep(state, some_words(step))
    for chain, document in enumerate(documents):
        kept = data.documents != document
        rest = from_assignments(data.select_tokens(kept), topics, PRIORS[0], state.assignments[kept, chain])
        for name in ("document_topic", "term_topic", "topic_total"):
            found = getattr(state, name).reshape(-1, topics + 1, CHAINS)[:, :topics, chain]
            assert_array_equal(found, np.atleast_2d(getattr(rest, name)))


@pytest.mark.parametrize("start", [False, True], ids=["fresh", "warm"])
@pytest.mark.parametrize("beta", BETAS)
def test_a_document_does_not_depend_on_its_group(beta: str, start: bool) -> None:
    """Not by a bit: one group, another order, other neighbours, alone."""
    data = moderate()
    z = np.random.default_rng(12).integers(4, size=data.token_count, dtype=np.int32) if start else None
    plan = Plan(data, 4, Prior(0.3, 0.2), "single-site", 6, 2, thin=2, particles=2, beta=beta, seed=13, start=z)
    everything = estimates_of(plan, [1, 2, 3, 8, 13, 20, 27, 28])
    assert len({tuple(logs) for logs in everything.values()}) == 8
    for group in ([28, 3], [20, 5, 8, 1, 2, 6], [13], [27]):
        for document, logs in estimates_of(plan, group).items():
            assert_array_equal(logs, everything.get(document, logs))
            assert_array_equal(logs, estimates_of(plan, [document])[document])


def test_a_start_outside_the_topics_is_refused() -> None:
    with pytest.raises(ValueError, match="one topic in"):
        leave_out(moderate(), 3, PRIORS[0], [np.full(360, 3, np.int32)], [1])


def test_a_document_that_keeps_its_alpha_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words then leave their own topic, and the chain has seen them: L(d) is too high."""
    prior, distances = Prior(0.3, 0.01), []
    exact = exact_log_likelihood(TINY, 1, prior)

    def kept(*arguments: Any) -> Lanes:
        state = leave_out(*arguments)
        return replace(state, alpha_of=np.zeros_like(state.alpha_of))

    for broken in (leave_out, kept):
        monkeypatch.setattr(leave_one_out, "leave_out", broken)
        row = score(TINY, 2, prior, sweeps=4000, thin=2, documents=[1], seed=1).documents[0]
        assert row.standard_error is not None
        distances.append((row.log_likelihood - exact) / row.standard_error)
    assert abs(distances[0]) < LIMIT
    assert distances[1] > 2 * LIMIT


def test_parts() -> None:
    """At most eight, long ones spread over all of them; more and smaller ones where there are workers for them."""
    assert split([9, 4, 5], 1, CHAINS) == [[9, 4, 5]]
    assert split(list(range(9)), 1, CHAINS) == [[0, 2, 4, 6, 8], [1, 3, 5, 7]]
    assert split(list(range(4)), 3, CHAINS) == [[0, 3], [1], [2]]
    assert split([2, 1, 0], 2, 1) == [[2], [1], [0]]
    for documents in range(1, 40):
        for workers in range(1, documents + 1):
            made = split(list(range(documents)), workers, CHAINS)
            assert sorted(d for group in made for d in group) == list(range(documents))
            assert all(1 <= len(group) <= CHAINS for group in made)


# -- errors and warnings ---------------------------------------------------------------------------


def test_standard_error_is_the_scatter_of_runs() -> None:
    results = [run(sweeps=1000, thin=5, seed=seed) for seed in range(30)]
    scatter = np.std([result.log_score for result in results], ddof=1)
    reported = np.sqrt(np.mean([result.standard_error**2 for result in results]))
    low, high = np.sqrt(chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 29) / 29)
    assert low < scatter / reported < high


def test_error_of_a_log() -> None:
    narrow, wide = np.array([0.0, 0.6, -0.6]), np.array([0.0, 2.0, -2.0])
    assert log_error(narrow) == pytest.approx(0.6 / np.sqrt(3))
    assert log_error(wide) == pytest.approx(2.0)
    assert log_error(np.array([1.0])) is None


def made_up(estimates: list[np.ndarray]) -> LeaveOneOutScore:
    return summary(TINY, dict(enumerate(estimates)))


def test_warnings() -> None:
    noise = np.random.default_rng(4).normal(size=(3, 20))
    wide = made_up([*(0.1 * noise[:2]), 1.5 * noise[2]])
    assert any("log-estimates of 1 of 3 documents scatter" in warning for warning in wide.warnings)
    heavy = made_up([*(0.1 * noise[:2]), 0.1 * noise[2] + 5 * (np.arange(20) == 7)])
    assert any("For 1 of 3 documents one batch of draws" in warning for warning in heavy.warnings)
    drift = made_up(list(0.1 * np.cumsum(noise, axis=1) / 4))
    assert any("batches of sweeps are correlated" in warning for warning in drift.warnings)
    assert made_up(list(0.1 * noise)).warnings == []
    single = made_up([np.zeros(1)] * 3)
    assert single.standard_error is None
    assert "no standard error" in single.warnings[0]


def test_a_low_score_is_said() -> None:
    """1,000 documents with an error of 0.11 each: the mean's is 0.0035, and the logs are low by 0.11^2 / 2."""
    corpus = oracle.tiny_corpus([[0]] * 1000, 1)
    noise = np.random.default_rng(5).normal(size=(1000, 20)) * 0.5
    assert any("too low by about 0.006" in warning for warning in summary(corpus, dict(enumerate(noise))).warnings)


# -- which documents -------------------------------------------------------------------------------


def test_documents_are_evenly_spaced_or_listed() -> None:
    corpus = oracle.tiny_corpus([[0]] * 10, 1)
    assert choose(corpus, None).tolist() == list(range(10))
    assert choose(corpus, 10).tolist() == list(range(10))
    assert choose(corpus, 3).tolist() == [1, 5, 8]
    assert choose(corpus, [7, 2, 7]).tolist() == [2, 7]
    for bad in (0, 11, [], [-1], [10]):
        with pytest.raises(InputError, match=r"cannot leave out|numbers from 0 to 9"):
            choose(corpus, bad)
    with pytest.raises(InputError, match="have no words"):
        choose(oracle.tiny_corpus([[0], []], 1), [1])


def test_sampling_error_covers_the_score_of_all_documents() -> None:
    """Samples of 10 of 40 made-up documents, log L(d) near -3 n_d: about 95 % within two errors."""
    rng = np.random.default_rng(6)
    lengths = rng.integers(1, 60, size=40)
    corpus = oracle.tiny_corpus([[0] * n for n in lengths], 1)
    logs = -3 * lengths + rng.normal(size=40) * 4
    everything = summary(corpus, {d: np.full(4, logs[d]) for d in range(40)})
    assert_allclose(everything.log_score, logs.mean(), rtol=1e-13)
    covered = 0
    for _ in range(300):
        part = summary(corpus, {d: np.full(4, logs[d]) for d in rng.choice(40, 10, replace=False).tolist()})
        assert part.sampling_error is not None
        covered += abs(part.log_score - logs.mean()) < student.isf(0.025, 9) * part.sampling_error
    assert 0.86 < covered / 300 < 0.995  # 95 %, less some for so small samples; binomial scatter 1.3 %


def test_one_of_many_documents_has_no_sampling_error() -> None:
    result = run(documents=[1], sweeps=20)
    assert [row.document for row in result.documents] == [1]
    assert result.sampling_error is None


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"thin": 30, "sweeps": 20}, "thin must be from 1 to the number of sweeps"),
        ({"thin": 0}, "thin must be from 1 to the number of sweeps"),
        ({"particles": 0}, "at least 1"),
        ({"beta": "mean"}, "unknown beta 'mean'"),
        ({"sampler": "gibbs"}, "unknown sampler"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        run(**options)


# -- the same bits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
@pytest.mark.usefixtures("workers_here")
def test_workers_do_not_change_a_bit(sampler: str) -> None:
    corpus = simulate_lda(6, 9, 10, 3, 0.3, 0.2, np.random.default_rng(7), poisson=True).corpus
    options: dict[str, Any] = {"sampler": sampler, "sweeps": 20, "burn_in": 5, "warm_up": 5, "seed": 8}
    one, two = (score(corpus, 3, Prior(), **options, workers=workers) for workers in (1, 2))
    assert one == two
    part = score(corpus, 3, Prior(), **options, documents=[4, 2])
    assert part.documents == [one.documents[2], one.documents[4]]  # whichever others are left out
    assert score(corpus, 3, Prior(), **(options | {"seed": 9})) != one


@pytest.mark.parametrize(("sampler", "warm_up"), [("single-site", 0), ("single-site", 8), ("grouped", 0)])
@pytest.mark.usefixtures("workers_here")
def test_a_killed_score_goes_on_where_it_was(sampler: str, warm_up: int) -> None:
    corpus = simulate_lda(40, 6, 9, 3, 0.3, 0.3, np.random.default_rng(1)).corpus
    work: dict[str, Any] = {"sampler": sampler, "warm_up": warm_up, "sweeps": 10, "burn_in": 5, "seed": 2}

    def run(checkpoint: Dying | None, workers: int = 1) -> LeaveOneOutScore:
        return score(corpus, 3, Prior(), checkpoint=checkpoint, workers=workers, **work)

    whole = run(None)
    for again in resumed(run, at=(0, 0.5, 0.8)):
        assert again == whole
    checkpoint = Dying(2)
    with pytest.raises(Died):
        run(checkpoint, 1)
    checkpoint.left.clear()
    assert run(checkpoint, 2) == whole


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "tiny.ldac"
    size = ["--documents", "8", "--length", "6", "--terms", "5", "--topics", "2"]
    assert main(["corpus", "simulate", *size, "--out", str(file)]) == 0
    return file


def command(path: Path, *options: object) -> int:
    short = ["--topics", 2, "--sweeps", 20, "--burn-in", 5, "--workers", 1, "--method", "leave-one-out"]
    short += ["--estimator", "left-to-right"]
    return main([*map(str, ["score", path, *short, *options])])


def test_command(path: Path, capsys: Capture) -> None:
    capsys.readouterr()
    answers = []
    for documents in (["--documents", "3,1"], ["--documents", 3], []):
        assert command(path, "--json", "--thin", 2, "--particles", 3, *documents) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert [[row["document"] for row in answer["documents"]] for answer in answers] == [[1, 3], [1, 4, 6], [*range(8)]]
    assert {"log_score", "standard_error", "perplexity", "sampling_error", "warnings"} <= set(answers[0])
    assert set(answers[0]["documents"][0]) == {"document", "tokens", "log_likelihood", "standard_error"}
    mean = np.mean([row["log_likelihood"] for row in answers[2]["documents"]])
    assert answers[2]["log_score"] == pytest.approx(mean)
    assert_array_equal(answers[2]["documents"][1], answers[0]["documents"][0])


def test_command_for_people(path: Path, capsys: Capture) -> None:
    assert command(path, "--beta", "drawn", "--warm-up", 3) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["mean log probability of a document (nats)", "its Monte Carlo standard error"]
    names += ["its error from the choice of documents", "perplexity per word"]
    assert [line.split("  ")[0] for line in lines[:4]] == names
    assert [line[:9] for line in lines[4:]] == ["warning: "] * 3


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("--documents 9", "cannot leave out 9 documents: the corpus has 8"),
        ("--documents 0", "--documents: 0 is not at least 1"),
        ("--documents 8,", "numbers from 0 to 7"),
        ("--documents ,", "numbers from 0 to 7"),
        ("--documents 1,x", "--documents: 'x' is not a whole number"),
        ("--thin 21", "thin must be from 1 to the number of sweeps, 20, not 21"),
        ("--particles 0", "--particles: 0 is not at least 1"),
        ("--beta mean", "--beta: invalid choice: 'mean'"),
    ],
)
def test_bad_commands(path: Path, capsys: Capture, options: str, fault: str) -> None:
    capsys.readouterr()
    assert command(path, *options.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert fault in err
    assert err.count("\n") == 1
