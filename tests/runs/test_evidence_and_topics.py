"""The records of `evidence` and `topics`: what is in them, and where they go."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from test_resume import COMMANDS, CORPUS, EVIDENCE, FILES, JUMP, TOPICS, result_of

from bayestopics import api, simulate
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import read_corpus, write_corpus
from bayestopics.runs import jump
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import state_files

Capture = pytest.CaptureFixture[str]


def check_run(record: Result, study: str, name: str, params: dict[str, Any]) -> None:
    task = record.task
    assert (task.study, task.scale, task.name, task.seed, task.params) == (study, "own", name, 4, params)
    assert (task.corpus, task.fingerprint) == (CORPUS.name, CORPUS.fingerprint)
    assert {"python", "bayestopics", "numpy", "numba"} <= set(record.versions)
    assert {"finished", "wall_seconds", "cpu_seconds", "peak_memory_mb", "resumed"} <= set(record.volatile)


def test_the_record_of_topics(tmp_path: Path) -> None:
    found = result_of("topics", tmp_path / "out")
    record = read(tmp_path / "out")
    range_of = {"low": 1, "high": 6, "kind": "uniform", "parameter": None}
    params = {key: value for key, value in TOPICS.items() if key not in ("seed", "prior", "topic_prior", "method")}
    given = {"topics": range_of, "alpha": 0.4, "eta": 0.3, "reach": 1}
    check_run(record, "topics", "pmmh", params | given)
    assert set(record.tables) == {"trace", "posterior"}
    kept = record.trace[record.trace["step"] >= 20]
    assert record.trace.groupby("chain")["step"].count().to_dict() == {0: 80, 1: 80}
    assert kept["topics"].value_counts(normalize=True).to_dict() == pytest.approx(found["posterior"])
    posterior = record.tables["posterior"]
    assert dict(zip(posterior["topics"], posterior["probability"], strict=True)) == found["posterior"]
    assert found["rhat"] is None  # a chain stays where it is, and there is no such metric
    assert record.metrics == {key: value for key, value in found.items() if isinstance(value, int | float)}
    assert len(record.metrics) == 5
    assert record.warnings == found["warnings"]
    assert record.arrays["fresh_log_estimates"].std(ddof=1) == found["log_estimate_sd"]
    assert record.volatile["estimates"] >= 162


def test_the_record_of_a_chain_over_topics_and_assignments(tmp_path: Path) -> None:
    found = result_of("topics jump", tmp_path / "out")
    record = read(tmp_path / "out")
    range_of = {"low": 1, "high": 6, "kind": "uniform", "parameter": None}
    assert (JUMP["iterations"], JUMP["burn_in"]) == (20, 10)
    params = {key: value for key, value in JUMP.items() if key not in ("seed", "prior", "topic_prior")}
    check_run(record, "topics", "jump", params | {"topics": range_of, "alpha": 0.4, "eta": 0.3, "hyper": "fixed"})
    assert set(record.tables) == {"trace", "moves", "batches", "posterior"}
    assert record.trace.groupby("chain")["step"].count().to_dict() == {0: 30, 1: 30}
    for name, column in (("posterior", "probability"), ("standard_error", "standard_error")):
        table = record.tables["posterior"].set_index("topics")[column].to_dict()
        assert {topics: table[topics] for topics in found[name]} == found[name]
        assert all(table[topics] < 1e-6 for topics in table.keys() - found["posterior"].keys())
    batches = record.tables["batches"]
    shares = batches["weight"] / batches.groupby("chain")["weight"].transform("sum") / 2
    assert shares.groupby(batches["topics"]).sum()[found["mode"]] == pytest.approx(found["posterior"][found["mode"]])
    assert record.metrics == {key: value for key, value in found.items() if isinstance(value, int | float)}
    assert record.warnings == found["warnings"]
    assert record.arrays["assignments"].shape == (2, CORPUS.token_count)
    moves = record.tables["moves"]
    kept = moves[moves["iteration"] >= 10]["accepted"]
    assert found["acceptance_rate"] == (pytest.approx(kept.mean()) if len(kept) else None)
    assert [chain["start"] for chain in found["chains"]] == [1, 4]


@pytest.mark.parametrize(
    ("of_topics", "of_joint", "told"), [(1.0, 1.44, 1), (1.0, 1.05, 0), (2.0, 1.44, 0), (None, 1.44, 0), (1.0, None, 0)]
)
def test_chains_with_one_number_of_topics_may_have_different_topics(
    of_topics: float | None, of_joint: float | None, told: int
) -> None:
    """Guards chains in different modes that seem to agree, and a second warning about one thing."""
    assert len(jump.joint_doubts({"rhat": of_topics, "rhat_log_joint": of_joint})) == told


def test_the_record_of_evidence(tmp_path: Path) -> None:
    found = api.evidence(CORPUS, **EVIDENCE, out=tmp_path / "out").summary()
    record = read(tmp_path / "out")
    params = {key: value for key, value in EVIDENCE.items() if key not in ("seed", "prior", "topic_prior")}
    check_run(record, "evidence", "annealing", params | {"alpha": 0.4, "eta": 0.3})
    assert set(record.tables) == {"evidence", "estimates", "timing"}
    for column in ("topics", "log_evidence", "standard_error"):
        assert record.tables["evidence"][column].tolist() == found[column]
    for table, column, key in (("estimates", "log_estimate", "log_estimates"), ("timing", "seconds", "seconds")):
        rows = record.tables[table]
        assert rows["topics"].tolist() == [1, 1, 2, 2, 4, 4]
        assert rows["repeat"].tolist() == [0, 1] * 3
        assert rows[column].tolist() == [*chain(*found[key])]
    best = {"best_topics": found["best"], "log_evidence_of_best": max(found["log_evidence"])}
    assert record.metrics == best
    assert record.warnings == found["warnings"]


def test_the_record_of_one_repeat_and_of_a_harmonic_mean(tmp_path: Path) -> None:
    found = result_of("evidence", tmp_path / "out", method="harmonic-z", repeats=1)
    record = read(tmp_path / "out")
    assert found["standard_error"] == [None] * 3
    assert record.tables["evidence"]["standard_error"].isna().all()
    other = record.tables["other"]["log_estimate"].tolist()
    assert other == [*chain(*found["from_the_same_chains"]["harmonic-psi"])]


def test_evidence_starts_from_what_chains_found(tmp_path: Path) -> None:
    """From the folder of a record, or from its array: the same bits, and another task than without a start."""
    result_of("topics jump", tmp_path / "chains")
    start = read(tmp_path / "chains").arrays["assignments"]
    one, other = (api.evidence(CORPUS, **EVIDENCE, start=of) for of in (tmp_path / "chains", start))
    assert same_bits(one, other)
    without, shifted = api.evidence(CORPUS, **EVIDENCE), api.evidence(CORPUS, **EVIDENCE, start=start[::-1].copy())
    assert len({one.task.identity, without.task.identity, shifted.task.identity}) == 3
    assert one.answer["log_estimates"] != without.answer["log_estimates"]
    result_of("topics", tmp_path / "pmmh")
    with pytest.raises(InputError, match="is not a record of `topics --method jump`"):
        api.evidence(CORPUS, start=tmp_path / "pmmh")
    with pytest.raises(InputError, match="is not the corpus of this record"):
        api.evidence(simulate(seed=1, documents=2, length=3), start=str(tmp_path / "chains"))


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def command_line(tmp_path: Path, capsys: Capture) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a short run."""
    write_corpus(CORPUS, tmp_path / "x.ldac")
    short = {
        "evidence": "--topics 1-2 --sweeps 4 --passes 1 --repeats 1 --workers 1 --json",
        "topics": "--method pmmh --max 3 --inner 2 --iterations 3 --burn-in 0 --workers 1 --json",
        "topics jump": "--max 3 --iterations 3 --burn-in 0 --workers 1 --json",
    }

    def run(command: str, *words: object) -> tuple[int, str, str]:
        code = main([command.partition(" ")[0], str(tmp_path / "x.ldac"), *short[command].split(), *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_out_keeps_a_finished_run_and_whatever_else_is_there(
    tmp_path: Path, command_line: Callable[..., tuple[int, str, str]], command: str
) -> None:
    out = tmp_path / "out"
    first = command_line(command, "--seed", 1, "--out", out)
    assert first[0] == 0
    assert command_line(command, "--seed", 1, "--out", out) == first  # read, not computed: the seconds too
    different = f"bayestopics: --out {out}: holds a different finished run; --overwrite replaces it\n"
    assert command_line(command, "--seed", 2, "--out", out) == (2, "", different)
    assert read(out).task.seed == 1
    second = command_line(command, "--seed", 2, "--out", out, "--overwrite")
    assert second[0] == 0
    assert read(out).task.seed == 2
    assert read(out).task.fingerprint == read_corpus(tmp_path / "x.ldac").fingerprint
    assert {path.name for path in tmp_path.iterdir()} == {"out", "x.ldac", "x.ldac.vocab"}
    alone = json.loads(command_line(command, "--seed", 2)[1])  # --out adds nothing to what is printed
    assert alone | {"seconds": None} == json.loads(second[1]) | {"seconds": None}

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").touch()
    for taken in (tmp_path / "folder", tmp_path / "x.ldac"):
        said = f"bayestopics: --out {taken}: exists and is not a run record; choose another folder\n"
        for more in ([], ["--overwrite"]):
            assert command_line(command, "--out", taken, *more) == (2, "", said)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_record_that_cannot_be_written_costs_no_work(
    tmp_path: Path, checkpoints: Path, command_line: Callable[..., tuple[int, str, str]], command: str
) -> None:
    """The result is printed, and with another --out it goes on from the end."""
    place = tmp_path / "x.ldac" / "out"
    code, out, err = command_line(command, "--out", place)
    assert (code, err) == (2, f"bayestopics: --out {place}: the record could not be written (File exists)\n")
    assert len(state_files(checkpoints)) == FILES[command]
    again = command_line(command, "--out", tmp_path / "out")
    assert (again[0], again[2]) == (0, "")
    assert read(tmp_path / "out").volatile["resumed"]
    assert not state_files(checkpoints)
    assert json.loads(again[1]) == json.loads(out)
