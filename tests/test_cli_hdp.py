"""`bayestopics hdp`: what it prints, and that its numbers are those of the methods behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayestopics.api import hdp
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.cli.main import main
from bayestopics.corpus import Corpus, write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.nonparametric.compute import PARTICLES, HdpSettings, split
from bayestopics.nonparametric.concentrations import ConcentrationPriors
from bayestopics.nonparametric.dp_mixture import collapsed
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_chain import hdp_gibbs
from bayestopics.nonparametric.hdp_held_out import left_to_right
from bayestopics.nonparametric.learners import LEARNERS, learner_of
from bayestopics.nonparametric.stream import Learner
from bayestopics.runs.hdp import drift
from test_bad_input import refused
from test_cli import answer

Capture = pytest.CaptureFixture[str]
KEYS = ["topics", "mode", "acceptance_rate", "concentrations", "rhat_topics", "rhat_log_joint", "chains"]
KEYS += ["heldout_per_word", "heldout_standard_error", "best_chain", "seconds", "top_words"]
CORPUS = simulate_lda(
    documents=20, length=12, terms=9, topics=2, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)
).corpus
SAMPLERS = [("hdp", "gibbs"), ("hdp", "split-merge")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "tiny.ldac"
    write_corpus(CORPUS, path)
    return path


def without_seconds(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "seconds"}


@pytest.mark.parametrize(("model", "method"), [*SAMPLERS, *LEARNERS])
def test_every_method(path: Path, capsys: Capture, model: str, method: str) -> None:
    words = ["hdp", path, "--model", model, "--method", method, "--sweeps", 5, "--burn-in", 2, "--heldout", 0.2]
    found = answer(capsys, *words, "--seed", 3)
    assert list(found) == [*KEYS, "warnings"]
    assert sum(found["topics"].values()) == pytest.approx(1)
    assert str(found["mode"]) in found["topics"]
    assert len(found["topics"]) == 1 or method in ("gibbs", "split-merge")
    assert (found["acceptance_rate"] is None) == (method != "split-merge")
    assert -np.log(60) < found["heldout_per_word"] < 0
    assert found["seconds"] > 0
    assert sum(row["share"] for row in found["top_words"]) == pytest.approx(1, abs=0.1)
    assert found["warnings"]
    again = answer(capsys, *words, "--seed", 3)
    assert without_seconds(again) == without_seconds(found)
    assert answer(capsys, *words, "--seed", 4)["heldout_per_word"] != found["heldout_per_word"]


def test_nothing_held_out(path: Path, capsys: Capture) -> None:
    found = answer(capsys, "hdp", path, "--sweeps", 4, "--burn-in", 0)
    assert (found["heldout_per_word"], found["heldout_standard_error"]) == (None, None)
    assert without_seconds(found) == {
        **without_seconds(hdp(CORPUS, sweeps=4, burn_in=0).summary()),
        "topics": found["topics"],  # whose keys are text in JSON
        "chains": found["chains"],
    }


def test_chains_and_a_record(path: Path, capsys: Capture, tmp_path: Path) -> None:
    words = ["hdp", str(path), "--sweeps", "4", "--burn-in", "0", "--chains", "2", "--workers", "1"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert "chain 1 from 20 topics: " in capsys.readouterr().out
    assert (tmp_path / "out" / "run.json").is_file()
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "exists and is not a run record" in capsys.readouterr().err


def test_moves_sampler_and_resampling_reach_the_chain(path: Path, capsys: Capture) -> None:
    """Three moves after blocked sweeps, both concentrations drawn: the chain of a direct call."""
    options = ["--method", "split-merge", "--moves", 3, "--sampler", "blocked", "--resample", "--gamma", 2]
    found = answer(capsys, "hdp", path, *options, "--sweeps", 30, "--burn-in", 5, "--seed", 3)
    chain = hdp_gibbs(
        CORPUS,
        gamma=2.0,
        sweeps=30,
        burn_in=5,
        moves=3,
        sampler="blocked",
        resample=ConcentrationPriors(),
        rng=generator(3, "hdp/hdp/split-merge/chain-0/chain"),
    )
    assert found["topics"] == {str(k): np.mean(chain.topics == k) for k in np.unique(chain.topics)}
    for name, column in zip(("gamma", "concentration"), chain.concentrations.T, strict=True):
        expected = {"mean": column.mean(), "standard_deviation": column.std()}
        assert found["concentrations"][name] == pytest.approx(expected)
        assert column.std() > 0
    accepted = chain.splits[:, 1].sum() + chain.merges[:, 1].sum()
    assert found["acceptance_rate"] == accepted / (3 * 30)


def test_for_people(path: Path, capsys: Capture) -> None:
    assert main(["hdp", str(path), "--sweeps", "4", "--burn-in", "0"]) == 0
    out, err = capsys.readouterr()
    assert "topic   0" in out
    assert "warning: 4 kept sweeps are too few" in out
    assert err == ""


# -- against direct calls ----------------------------------------------------------------------------


def trained(model: str, method: str, training: Corpus, births: str = "data", **prior: float) -> Learner:
    rng = generator(3, f"hdp/{model}/{method}/chain-0/learner")
    kind = learner_of(model, method, births)
    given = prior | ({"births": births} if kind is TruncationFreeDPMixture else {})
    learner = kind(training.term_count, rng, documents=training.document_count, **given)
    for _ in range(2):
        order = rng.permutation(training.document_count)
        for ids in (order[first : first + 6] for first in range(0, len(order), 6)):
            learner.partial_fit(training.counts[ids], ids=ids)
    return learner


def parts() -> tuple[Corpus, Corpus]:
    return Corpus.from_sparse(CORPUS.counts[:15]), Corpus.from_sparse(CORPUS.counts[15:])


@pytest.mark.parametrize("method", ["truncation-free", "truncated"])
def test_held_out_of_learners(method: str) -> None:
    work = {"method": method, "sweeps": 2, "batch_size": 6, "heldout": 0.25, "seed": 3}
    prior = {"eta": 0.3, "gamma": 0.7}
    training, held_out = parts()
    mixture = trained("dp-mixture", method, training, eta=0.3, concentration=0.7)
    found = hdp(CORPUS, model="dp-mixture", **work, **prior).summary()
    assert found["heldout_per_word"] == collapsed(mixture, held_out).per_word
    assert found["topics"] == {mixture.used_components(): 1.0}
    topics = trained("hdp", method, training, **prior, concentration=1.3)
    estimate = left_to_right(topics, held_out, PARTICLES, generator(3, f"hdp/hdp/{method}/chain-0/held out"))
    found = hdp(CORPUS, **work, **prior, concentration=1.3).summary()
    assert found["heldout_per_word"] == estimate.per_word
    assert found["heldout_standard_error"] == estimate.standard_error


@pytest.mark.parametrize("method", ["gibbs", "split-merge"])
def test_held_out_of_samplers(method: str) -> None:
    """Documents of one word: their probability given a state is known, so that only the mean over states is left.

    The chain is cut where its states are kept, and yet it is the chain that is not cut.
    """
    dense = CORPUS.counts.toarray()
    dense[16:] = np.eye(9, dtype=int)[:4]
    corpus, sweeps = Corpus.from_sparse(dense), 3
    training = Corpus.from_sparse(dense[:16])
    prior = {"eta": 0.3, "gamma": 0.7, "concentration": 1.3}
    moves = 1 if method == "split-merge" else 0
    rng, logs = generator(3, f"hdp/hdp/{method}/chain-0/chain"), []
    chain = hdp_gibbs(training, **prior, sweeps=1, burn_in=4, moves=moves, rng=rng)
    for sweep in range(sweeps):
        state = chain.last
        means = (state.term_topic[:4] + 0.3) / (state.topic_total + 9 * 0.3)
        logs.append(np.log((means @ state.alpha + state.alpha_new / 9) / 1.3))
        if sweep < sweeps - 1:
            chain = hdp_gibbs(training, **prior, sweeps=1, start=state, moves=moves, rng=rng)
    found = hdp(corpus, method=method, **prior, sweeps=sweeps, burn_in=4, heldout=0.2, seed=3).summary()
    assert found["heldout_per_word"] == pytest.approx(np.log(np.mean(np.exp(logs), axis=0)).mean())
    rng = generator(3, f"hdp/hdp/{method}/chain-0/chain")
    whole = hdp_gibbs(training, **prior, sweeps=sweeps, burn_in=4, moves=moves, rng=rng)
    assert found["topics"] == {k: np.mean(whole.topics == k) for k in np.unique(whole.topics)}


# -- warnings ------------------------------------------------------------------------------------------


def test_drift() -> None:
    rng = np.random.default_rng(1)
    settled = rng.poisson(5, (400, 400))
    assert np.mean([bool(drift(chain)) for chain in settled]) < 0.03  # a t of 18 degrees is beyond 3 in 0.8 %
    rising = settled[:20] + np.linspace(0, 4, 400).round().astype(int)
    assert all("drifts" in drift(chain)[0] for chain in rising)
    assert drift(np.full(100, 7)) == []
    assert "drifts" in drift(np.repeat([7, 8], 50))[0]
    assert "too few" in drift(np.arange(10))[0]


def test_warnings() -> None:
    few = {"sweeps": 2, "burn_in": 0}
    paper = hdp(CORPUS, method="split-merge", variant="paper", **few)
    assert any("not the posterior" in one for one in paper.warnings)
    mixture = hdp(CORPUS, model="dp-mixture", method="truncated", concentration=2.0, sweeps=1)
    assert any("no document level" in one for one in mixture.warnings)
    empty = Corpus.from_sparse(np.vstack([CORPUS.counts.toarray(), np.zeros((2, 9), int)]))
    assert any("2 documents are empty" in one for one in hdp(empty, **few).warnings)


# -- bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            "--model dp-mixture --method gibbs",
            "method gibbs needs model hdp; a dp-mixture has the methods truncation-free and truncated",
        ),
        ("--model dp-mixture --method split-merge", "method split-merge needs model hdp"),
        ("--model dp-mixture", "method gibbs needs model hdp"),
        ("--variant paper", "variant paper needs method split-merge; gibbs has no variants"),
        ("--method truncated --variant paper", "variant paper needs method split-merge"),
        ("--moves 3", "moves need method split-merge; gibbs makes none"),
        ("--method split-merge --moves 0", "--moves: 0 is not at least 1"),
        ("--sampler sparse", "--sampler: invalid choice: 'sparse'"),
        ("--method truncated --sampler blocked", "sampler blocked needs method gibbs or split-merge; truncated has no"),
        ("--model dp-mixture --method truncated --resample", "resample needs method gibbs or split-merge"),
        ("--method slice", "--method: invalid choice: 'slice'"),
        ("--gamma 0", "--gamma: 0 is not positive"),
        ("--gamma 1e-9", "gamma must be a number from 0.001"),
        ("--concentration nan", "--concentration: nan is not positive and finite"),
        ("--eta -1", "--eta: -1 is not positive"),
        ("--sweeps 0", "--sweeps: 0 is not at least 1"),
        ("--batch-size 0", "--batch-size: 0 is not at least 1"),
        ("--heldout 0", "--heldout: 0 is not positive"),
        ("--heldout 1", "the held-out share must be between 0 and 1"),
        ("--heldout 0.99", "no document is left to learn from"),
    ],
)
def test_bad_options(tmp_path: Path, capsys: Capture, options: str, fault: str) -> None:
    (tmp_path / "x.ldac").write_text("2 0:1 1:2\n1 2:1\n")
    assert fault in refused(capsys, tmp_path, "hdp", tmp_path / "x.ldac", *options.split())


def test_births_and_the_first_pass_reach_the_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards options that are checked and then forgotten, and the defaults."""
    work = {"method": "truncation-free", "sweeps": 1, "batch_size": 6, "model": "dp-mixture"}
    kind, seen = LEARNERS["dp-mixture", "truncation-free"], []
    original = kind.__init__

    def noted(self: Learner, *rest: object, **named: object) -> None:
        seen.append(named)
        original(self, *rest, **named)

    monkeypatch.setattr(kind, "__init__", noted)
    for given in ({}, {"births": "words", "first_pass": "fading"}):
        hdp(CORPUS, **work, **given)
        assert seen[-1].items() >= ({"births": "data", "first_pass": "sequential"} | given).items()


def test_bad_tasks() -> None:
    for options in (
        {"births": "words"},
        {"method": "truncation-free", "first_pass": "fading"},
        {"method": "truncation-free", "births": "no"},
        {"model": "lda"},
        {"method": "slice"},
        {"variant": "fast"},
        {"sweeps": 0},
        {"burn_in": -1},
    ):
        with pytest.raises(InputError):
            HdpSettings(**options)
    with pytest.raises(InputError, match="held-out documents of corpus: the corpus is empty"):
        split(Corpus.from_sparse(np.array([[1, 2], [0, 0]])), 0.5)
