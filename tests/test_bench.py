"""The bench: what it writes, what it leaves out and how it computes ratios. No test depends on the speed."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bayestopics.bench import corpora, hdp, timing
from bayestopics.bench.__main__ import main
from bayestopics.bench.programs import OURS, PROGRAMS
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import SAMPLERS

ROOT = Path(__file__).resolve().parents[1]
FILES = {"bench.csv", "bench.json", "bench.md", "memory.csv", "inference.csv", "ns_per_token.png", "hdp.png"}
FILES |= {f"hdp_{part}.csv" for part in ("passes", "sweeps", "curves", "levels", "growth")}


def test_quick_run_writes_all_files_and_names_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "gensim", None)  # as if it were not installed
    out = tmp_path / "bench"
    code = main(["--quick", "--programs", "single-site,sparse,side-by-side,lda,gensim,scikit-learn", "--out", str(out)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert {path.name for path in out.iterdir()} == FILES
    assert "left out: gensim (ModuleNotFoundError" in printed.err

    table = pd.read_csv(out / "bench.csv")
    assert list(table.columns) == timing.COLUMNS
    early, warmed = (set(table[table["phase"] == phase]["program"]) for phase in timing.PHASES)
    assert early == {"single-site", "sparse", "side-by-side", "lda", "scikit-learn"}
    assert warmed == {"single-site", "sparse", "side-by-side", "lda"}  # variational passes have no chain to warm up
    assert set(table["topics"]) == {4, 8}
    assert (table["ns_a_token"] > 0).all()
    assert table["times_tomotopy"].isna().all()  # it was not among the programs

    machine = json.loads((out / "bench.json").read_text(encoding="utf-8"))
    assert list(machine["left_out"]) == ["gensim"]
    assert {"date", "commit", "cpu", "versions", "peers", "rounds", "warm_up", "memory"} <= machine.keys()
    assert machine["quick"]
    assert [row["program"] for row in machine["memory"]] == ["single-site", "sparse"]
    assert "Left out: gensim" in (out / "bench.md").read_text(encoding="utf-8")
    assert (pd.read_csv(out / "memory.csv")["peak_mb"] > 0).all()

    passes, sweeps, curves = (pd.read_csv(out / f"hdp_{part}.csv") for part in ("passes", "sweeps", "curves"))
    variational = [name for name in hdp.VARIATIONAL if name not in hdp.PEERS]
    samplers = [name for name in hdp.CHAINS if name not in hdp.PEERS]
    assert list(passes["program"]) == variational
    assert list(sweeps["program"]) == samplers
    assert list(dict.fromkeys(curves["program"])) == [*variational, *samplers]
    for table in (passes, curves):
        assert table["per_word"].between(-2 * np.log(25), 0).all()  # 25 terms; of two documents one may be hard
    assert (curves.groupby("program")["seconds"].diff().dropna() > 0).all()
    assert (sweeps["move_in_sweeps"] > 0).all()
    assert len(pd.read_csv(out / "hdp_levels.csv")) == 0  # there is nobody to compare with
    growth = pd.read_csv(out / "hdp_growth.csv")
    assert list(growth["components"]) == [5, 5, 50, 50] * 2
    assert (growth["us_a_document"] > 0).all()


def test_what_is_kept_is_of_one_run(tmp_path: Path) -> None:
    """`make keep-bench` takes all tables of a run, and none of a later one of a part."""

    def keep() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", "keep-bench"], cwd=tmp_path, capture_output=True, text=True)

    shutil.copy(ROOT / "Makefile", tmp_path)
    bench = tmp_path / "results/bench"
    bench.mkdir(parents=True)
    assert "nothing is measured yet" in keep().stdout
    for age, name in enumerate(("bench.json", "bench.csv", "hdp_levels.csv", "hdp.png", "bench.md")):
        (bench / name).write_text(name)
        os.utime(bench / name, (1000 - age, 1000 - age))
    assert keep().returncode == 0
    kept = {"bench.json", "bench.csv", "hdp_levels.csv", "hdp.png"}
    assert {path.name for path in (bench / "kept").iterdir()} == kept
    os.utime(bench / "hdp_levels.csv", (2000, 2000))
    done = keep()
    assert done.returncode != 0
    assert "later, partial run" in done.stdout


def test_every_sampler_is_compared() -> None:
    assert [program.name for program in OURS] == list(SAMPLERS)
    assert set(PROGRAMS) == {*SAMPLERS, "side-by-side", "tomotopy", "lda", "gensim", "scikit-learn"}


def test_chains_side_by_side_share_the_time_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """By this clock every sweep takes eight seconds, which is 1 s for each of eight chains."""
    ticks = itertools.count()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: 8.0 * next(ticks))
    programs = [PROGRAMS["single-site"], PROGRAMS["side-by-side"]]
    table = timing.compare(corpora.load("tiny-lda"), 4, programs, timing.Effort(rounds=2, warm_up=1), lambda text: None)
    cost = table.set_index(["phase", "program"])["ns_a_token"] * table["tokens"].iloc[0] / 1e9
    assert cost.xs("single-site", level="program").tolist() == pytest.approx([8.0, 8.0])
    assert cost.xs("side-by-side", level="program").tolist() == pytest.approx([1.0, 1.0])


def test_an_unknown_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--programs", "mallet", "--out", str(tmp_path / "bench")]) == 2
    assert "unknown program 'mallet'" in capsys.readouterr().err


def test_ratios_are_taken_within_rounds_and_leave_out_the_first() -> None:
    program = {0: 50.0, 1: 1.0, 2: 2.0, 3: 4.0}
    reference = {0: 1.0, 1: 3.0, 2: 6.0, 3: 12.0}  # three times the program's, while the machine slows down
    result = timing.summary(program, reference, tokens=10)
    assert result["rounds"] == 3
    assert result["ns_a_token"] == pytest.approx(2e8)
    assert [result[f"times_tomotopy{end}"] for end in ("", "_q1", "_q3")] == pytest.approx([3.0, 3.0, 3.0])


def test_an_equal_level_is_the_best_that_both_reach() -> None:
    """Ours reaches -6, the other only -7. So the level is -7.01, halfway between two checks in the log of seconds."""
    ours = pd.DataFrame({"program": "gibbs", "seconds": [1.0, 4.0, 16.0], "per_word": [-8.01, -6.01, -6.0]})
    peer = pd.DataFrame({"program": "tomotopy", "seconds": [1.0, 10.0], "per_word": [-8.0, -7.0]})
    (row,) = hdp.levels(pd.concat([ours, peer]).assign(corpus="c")).to_dict("records")
    assert (row["program"], row["reference"], row["level"]) == ("gibbs", "tomotopy", -7.0)
    assert row["seconds"] == pytest.approx(2.0)
    assert row["seconds_of_reference"] == pytest.approx(10**0.99)


def test_topics_of_tomotopy_go_to_tokens_of_the_same_term_and_document() -> None:
    """tomotopy has its own order of the vocabulary and of the words in a document, and it has no empty documents."""
    corpus = Corpus.from_sparse(np.array([[2, 0, 1], [0, 0, 0], [0, 1, 1]]), ["a", "b", "c"])
    documents = [([1, 0, 1], [5, 3, 6]), ([2, 0], [7, 9])]  # c a c .. in terms of its vocabulary
    model = SimpleNamespace(
        vocabs=["c", "a", "b"],
        docs=[SimpleNamespace(words=np.array(words), topics=np.array(z)) for words, z in documents],
    )
    assignments = hdp.assignments_of(model, corpus)
    found = sorted(zip(corpus.documents.tolist(), corpus.terms.tolist(), assignments.tolist(), strict=True))
    assert found == [(0, 0, 5), (0, 0, 6), (0, 2, 3), (2, 1, 7), (2, 2, 9)]
    alpha, theta = hdp.model_of(corpus, assignments)
    assert alpha.sum() == pytest.approx(hdp.PRIOR.concentration)
    assert theta.sum(axis=0) == pytest.approx(np.ones(6))  # five topics, and one not seen
    assert theta[:, -1] == pytest.approx(np.full(3, 1 / 3))


def test_one_slow_sweep_is_compared_with_the_first_of_the_reference() -> None:
    result = timing.summary({0: 20.0}, {0: 5.0, 1: 4.0}, tokens=10)
    assert (result["rounds"], result["times_tomotopy"]) == (1, 0.25)
    assert np.isnan(timing.summary({0: 20.0}, {}, tokens=10)["times_tomotopy"])


def test_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = [0.0], []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def program(name: str, seconds: float) -> None:
        calls.append(name)
        clock[0] += seconds

    sweeps = {
        name: lambda n=name, s=s: program(n, s) for name, s in {"a": 1.0, "slow": 3.0, "b": 1.0, "very": 11.0}.items()
    }
    seconds = timing.interleave(sweeps, rounds=3, say=lambda text: None)
    assert calls == [*["a", "slow", "b", "very"], *["b", "slow", "a"], *["a", "slow", "b"], *["b", "a"]]
    assert {name: list(rounds) for name, rounds in seconds.items()} == {
        "a": [0, 1, 2, 3],
        "slow": [0, 1, 2],
        "b": [0, 1, 2, 3],
        "very": [0],
    }
