"""Every command, killed outright (SIGKILL) at a save or in the middle of one, ends with the same bits.

kill_at_random.py does this more often, at random moments; it takes too long for every day.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import killed_command
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.runs import driver
from killed_command import Counting
from killing import PATIENCE, content, own_cache, state_files, without_seconds

LEAVE_ONE_OUT = "score --topics 2 --sweeps 20 --burn-in 10 --method leave-one-out"

# how often a save is due, and the command; fewer than four kept sweeps of a fit have no R-hat, and need no ArviZ
COMMANDS: dict[str, tuple[int, str]] = {
    "fit": (3, "fit --topics 3 --sweeps 3 --burn-in 30 --chains 2"),
    "evidence": (1, "evidence --topics 1-4 --sweeps 10 --passes 2 --repeats 2"),
    "evidence chib": (1, "evidence --topics 1-4 --sweeps 10 --repeats 3 --method chib"),
    "topics": (3, "topics --max 4 --iterations 3 --burn-in 30"),
    "topics sampled": (3, "topics --hyper sampled --max 4 --iterations 3 --burn-in 30"),
    "topics pmmh": (3, "topics --method pmmh --max 4 --inner 3 --iterations 3 --burn-in 30"),
    "hdp gibbs": (3, "hdp --sweeps 3 --burn-in 20 --chains 2 --heldout 0.2"),
    "hdp split-merge": (3, "hdp --method split-merge --resample --sweeps 3 --burn-in 20 --chains 2"),
    "hdp truncation-free": (1, "hdp --method truncation-free --sweeps 3 --batch-size 6 --heldout 0.2"),
    "hdp dp-mixture": (1, "hdp --model dp-mixture --method truncated --sweeps 3 --batch-size 6"),
    "hyper tempering": (50, "hyper --topics 2 --sweeps 200 --chains 2 --method tempering"),
    "hyper score": (100, "hyper --topics 2 --sweeps 200 --chains 2"),
    "hyper iterative-grid": (50, "hyper --topics 2 --sweeps 150 --chains 1 --search iterative-grid"),
    "hyper gibbs-em": (100, "hyper --topics 2 --sweeps 20 --method gibbs-em"),
    "hyper variational-em": (5, "hyper --topics 2 --sweeps 60 --method variational-em"),
    "hyper full-bayes": (30, "hyper --topics 2 --sweeps 200 --method full-bayes"),
    "select": (10, "select --topics 1-3 --iterations 20 --burn-in 40 --chains 2"),
    "score completion": (3, "score --topics 2 --sweeps 20 --burn-in 10"),
    "score leave-one-out": (5, f"{LEAVE_ONE_OUT} --thin 10 --chains 8 --forget 2 --steps 3 --tolerance 0.01"),
    "score left-to-right": (1, f"{LEAVE_ONE_OUT} --estimator left-to-right --warm-up 5"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_save_it_gives_the_same_bits(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    corpus = simulate_lda(documents=20, length=12, terms=9, topics=2, alpha=0.2, eta=0.2, rng=np.random.default_rng(4))
    write_corpus(corpus.corpus, tmp_path / "x.ldac")
    stride, words = COMMANDS[name]
    command = [*words.split(), str(tmp_path / "x.ldac"), "--workers", "1", "--json", "--out"]

    # undisturbed, in this process: how many saves are there?
    monkeypatch.setattr(driver, "Checkpoint", Counting)
    monkeypatch.setattr(Counting, "stride", stride)
    monkeypatch.setattr(Counting, "asked", 0)
    monkeypatch.setattr(Counting, "saves", 0)
    assert main([*command, str(tmp_path / "whole")]) == 0
    answer, saves = capsys.readouterr().out, Counting.saves
    assert saves > 1
    assert not list(checkpoints.iterdir())

    out, folder = tmp_path / "out", tmp_path / "cache" / "checkpoints"
    in_the_middle = list(COMMANDS).index(name) % 2 and saves > 2  # then an earlier save is left
    how = [str(stride), str(saves // 2 + bool(in_the_middle)), str(int(in_the_middle))]
    died = subprocess.run(
        [sys.executable, killed_command.__file__, *how, *command, str(out)],
        env=own_cache(tmp_path / "cache"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    errors = [line for line in died.stderr.splitlines() if not line.startswith("bayestopics: first answer, ")]
    assert (died.returncode, died.stdout, errors) == (-signal.SIGKILL, "", [])
    assert not out.exists()
    assert state_files(folder)

    monkeypatch.setattr(driver, "CHECKPOINTS", folder)
    assert main([*command, str(out)]) == 0
    resumed, errors = capsys.readouterr()
    assert errors == ""
    assert without_seconds(resumed) == without_seconds(answer)
    assert content(out) == content(tmp_path / "whole")
    assert json.loads((out / "run.json").read_text())["volatile"]["resumed"]
    assert not list(folder.iterdir())
