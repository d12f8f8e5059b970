"""A long loop that comes to nan stops at that iteration and keeps its state; scratch of the killed is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import oracle
from bayestopics.base.files import replacing
from bayestopics.base.guard import NotFiniteError
from bayestopics.base.packing import unpack
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.hyper import full_bayes, score_chains, tempering
from bayestopics.lda.state import Prior
from bayestopics.predict import completion
from bayestopics.runs import chain as chains
from bayestopics.runs import driver

FIT = ["fit", "--topics", "3", "--sweeps", "9", "--burn-in", "2", "--chains", "1", "--workers", "1", "--json"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_corpus(oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), tmp_path / "x.ldac")
    return tmp_path / "x.ldac"


def test_a_planted_nan_stops_a_chain_and_the_state_is_kept(
    path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = chains.log_joint, []

    def planted(state: object) -> float:
        calls.append(1)
        return float("nan") if len(calls) == 6 else real(state)

    monkeypatch.setattr(chains, "log_joint", planted)
    monkeypatch.setattr(chains, "compile_sampler", lambda _: None)
    assert main([*FIT, str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    line = said.err.strip()
    assert line.startswith(
        "bayestopics: stopped: the log joint density is not finite at iteration 6; the state is kept in "
    )
    kept = Path(line.rpartition(" ")[2])
    assert kept.parent.parent == driver.CHECKPOINTS
    assert len(unpack(kept.read_bytes())) == 80


CORPUS, RNG = oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), np.random.default_rng(2)
SHORT = {"sweeps": 2, "rng": RNG}
GRID = tempering.Grid((0.4, 0.6), (0.4, 0.6))
H, Z = np.array([0.5, 0.5]), np.zeros(80, np.int32)
LOOPS = {
    full_bayes: lambda: full_bayes.full_bayes(CORPUS, 2, burn_in=0, **SHORT),
    score_chains: lambda: score_chains.leg(CORPUS, 2, H, Z, burn_in=0, batches=2, **SHORT),
    tempering: lambda: tempering.temper(CORPUS, 2, GRID, **SHORT),
    completion: lambda: completion.score(CORPUS, 2, Prior(0.5, 0.5), burn_in=0, **SHORT),
}


@pytest.mark.parametrize("module", LOOPS, ids=[module.__name__ for module in LOOPS])
def test_every_long_loop_has_the_guard(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that finds everything wrong stops each of them at its first number."""
    monkeypatch.setattr(module, "finite", lambda _: False)
    with pytest.raises(NotFiniteError, match=r"not finite at iteration 1$"):
        LOOPS[module]()


def test_scratch_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """Guards folders that pile up, and one that a living process is still writing to."""
    die = "import os, sys, pathlib\nfrom bayestopics.base.files import replacing\n"
    die += "with replacing(pathlib.Path(sys.argv[1])) as t: t.write_text('half'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", die, str(tmp_path / "one")])
    assert len(list(tmp_path.iterdir())) == 1
    with replacing(tmp_path / "one") as outer:
        outer.write_text("old")
        with replacing(tmp_path / "one") as inner:
            inner.write_text("new")
        assert outer.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert os.path.getsize(tmp_path / "one") == 3
