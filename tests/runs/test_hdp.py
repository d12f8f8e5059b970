"""Records of `hdp`: the same bits however often it was killed, and for any number of workers; chains compared."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayestopics.api import hdp
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.nonparametric import stream
from bayestopics.nonparametric.compute import HdpSettings, compile_method
from bayestopics.nonparametric.hdp_state import HdpState
from bayestopics.nonparametric.learners import LEARNERS
from bayestopics.nonparametric.stream import Learner
from bayestopics.runs import driver
from bayestopics.runs.hdp import last_state, rhat_of_topics
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import PATIENCE, Killed, KillingSecond, own_cache, state_files, wait_for

CORPUS = simulate_lda(
    documents=20, length=12, terms=9, topics=2, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)
).corpus
EVERY = [("hdp", "gibbs"), ("hdp", "split-merge"), *LEARNERS]


def record_of(out: Path, model: str = "hdp", method: str = "gibbs", **changes: Any) -> Result:
    options: dict[str, Any] = {"sweeps": 6, "burn_in": 3, "batch_size": 6, "heldout": 0.2, "chains": 2, "seed": 4}
    hdp(CORPUS, model=model, method=method, **options | changes, out=out)
    return read(out)


@pytest.mark.parametrize(("model", "method"), EVERY)
def test_killed_again_and_again_it_gives_the_same_bits(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, model: str, method: str
) -> None:
    whole, lives = record_of(tmp_path / "whole", model, method), 0
    with monkeypatch.context() as patch:
        patch.setattr(driver, "Checkpoint", KillingSecond)
        while not (tmp_path / "resumed").exists():
            lives, KillingSecond.saves = lives + 1, 0
            try:
                record_of(tmp_path / "resumed", model, method)
            except Killed:
                assert lives < 30
    resumed = read(tmp_path / "resumed")
    assert lives > 5
    assert max(resumed.volatile["resumed"]) > 2
    assert whole.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, whole)
    assert len(resumed.tables["timing"]) == len(whole.tables["timing"])
    assert not list(checkpoints.iterdir())


def test_the_number_of_workers_changes_no_bit(tmp_path: Path) -> None:
    several = record_of(tmp_path / "several", method="split-merge", workers=2)
    assert same_bits(record_of(tmp_path / "one", method="split-merge"), several)


@pytest.mark.parametrize(("model", "method"), EVERY)
def test_a_record_has_the_topics_the_posterior_and_the_state(tmp_path: Path, model: str, method: str) -> None:
    record = record_of(tmp_path / "record", model, method)
    posterior = record.tables["posterior"]
    assert posterior.groupby("chain")["probability"].sum().to_numpy() == pytest.approx([1, 1])
    trace, topics = record.trace, record.tables["shares"]
    for chain in range(2):
        state = last_state(tmp_path / "record", CORPUS, chain)
        used = state.topics if isinstance(state, HdpState) else state.used_components()
        assert used == trace[trace["chain"] == chain]["topics"].iloc[-1]
        assert isinstance(state, HdpState if method in ("gibbs", "split-merge") else Learner)
    first = last_state(record, CORPUS)
    assert len(topics) == (first.topics if isinstance(first, HdpState) else first.used_components())
    assert topics["share"].is_monotonic_decreasing
    assert topics["share"].sum() == pytest.approx(1)
    assert (record.tables["topics"].groupby("topic")["probability"].sum() <= 1 + 1e-12).all()


def test_the_last_update_counts_also_where_a_long_history_left_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18 updates, of which a history of four entries has the 4th, 8th, 12th and 16th."""
    monkeypatch.setattr(stream, "MOST_ENTRIES", 4)
    record = record_of(tmp_path / "record", method="truncation-free")
    for chain in range(2):
        trace, learner = record.trace[record.trace["chain"] == chain], last_state(record, CORPUS, chain)
        assert isinstance(learner, Learner)
        assert trace["documents"].tolist() == [22, 44, 64, 86, 96]
        assert trace["topics"].iloc[-1] == learner.used_components()


def test_a_saved_state_is_that_of_its_corpus(tmp_path: Path) -> None:
    record = record_of(tmp_path / "record")
    state = last_state(record, CORPUS, 1)
    assert isinstance(state, HdpState)
    assert_array_equal(state.term_topic.sum(axis=1), np.bincount(CORPUS.terms[CORPUS.documents < 16], minlength=9))
    with pytest.raises(InputError, match="fingerprints differ"):
        last_state(record, Corpus.from_sparse(CORPUS.counts[:16]))
    with pytest.raises(InputError, match="chains 0 to 1"):
        last_state(record, CORPUS, 2)


# -- a process, killed outright ---------------------------------------------------------------------


def test_the_command_is_killed_and_goes_on(tmp_path: Path) -> None:
    compile_method(HdpSettings(method="split-merge"))
    corpus = simulate_lda(100, 60, 50, 5, 0.2, 0.1, np.random.default_rng(1)).corpus
    write_corpus(corpus, tmp_path / "x.ldac")
    out = tmp_path / "out"
    # fewer than four kept sweeps have no R-hat: importing ArviZ for it takes longer than the chain
    words = ["hdp", str(tmp_path / "x.ldac"), "--method", "split-merge", "--sweeps", "3", "--burn-in", "597"]
    command = [sys.executable, "-m", "bayestopics.cli", *words, "--workers", "1", "--out", str(out)]
    environment = own_cache(tmp_path / "cache", BAYESTOPICS_CHECKPOINT_SECONDS="0.05")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    wait_for(lambda: bool(state_files(tmp_path / "cache" / "checkpoints")), process)
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL, "it ended before it was killed"
    assert not out.exists()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE)
    resumed = read(out)
    assert resumed.volatile["resumed"] == [1]
    hdp(read_corpus(tmp_path / "x.ldac"), method="split-merge", sweeps=3, burn_in=597, out=tmp_path / "whole")
    assert same_bits(resumed, read(tmp_path / "whole"))


# -- do the chains agree? ---------------------------------------------------------------------------


def test_chains_that_agree_and_chains_that_do_not() -> None:
    rng = np.random.default_rng(1)
    same = rng.poisson(5, (4, 2000))
    assert rhat_of_topics(same) == pytest.approx(1, abs=0.005)
    assert rhat_of_topics(same + np.arange(4)[:, None]) > 1.1
    assert rhat_of_topics(np.full((3, 50), 7)) == 1
    assert rhat_of_topics(np.repeat([[7], [8]], 50, axis=1)) == np.inf
    assert rhat_of_topics(np.array([[7] * 50, [7] * 49 + [8]])) < 1.05
    assert rhat_of_topics(same[:, :3]) is None


def test_disagreement_is_said_in_words() -> None:
    """Many topics at the start, and two sweeps: chains that started elsewhere are elsewhere."""
    corpus = simulate_lda(30, 40, 60, 3, 0.2, 0.1, np.random.default_rng(2)).corpus
    found = hdp(corpus, sweeps=6, burn_in=0, chains=2).summary()
    assert [chain["start"] for chain in found["chains"]] == [1, 20]
    assert found["rhat_topics"] > 1.01
    assert any("The chains disagree about the number of topics (means " in text for text in found["warnings"])
    streams = hdp(corpus, method="truncation-free", sweeps=1, batch_size=5, chains=4).summary()
    ends = [int(k) for k in streams["topics"]]
    assert len(ends) > 1
    assert f"its runs end with {min(ends)} to {max(ends)} topics" in streams["warnings"][-1]


def test_nothing_to_do() -> None:
    with pytest.raises(InputError, match="0 chains"):
        hdp(CORPUS, chains=0)
