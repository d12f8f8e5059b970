"""Damaged records and checkpoints: one line that names them; a checkpoint is set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayestopics.base.packing import pack
from bayestopics.base.problems import InputError
from bayestopics.runs import record
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import key, versions
from faults.fuzzing import example

Damage = Callable[[Path], Any]


def edit(change: Callable[[dict[str, Any]], Any], checked: bool = False) -> Damage:
    """run.json with a change; without its checksums, as an old record, unless it is `checked`."""

    def damage(folder: Path) -> None:
        content = json.loads((folder / "run.json").read_text())
        if not checked:
            del content["volatile"]["checksums"]
        change(content)
        (folder / "run.json").write_text(json.dumps(content))

    return damage


def old(damage: Damage) -> Damage:
    """The damage of a record from before there were checksums."""
    return lambda folder: (edit(lambda content: None)(folder), damage(folder))


def put(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def cut(name: str) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-30])


def flip(name: str) -> Damage:
    def damage(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return damage


DAMAGES: dict[str, tuple[Damage, str]] = {
    "run.json is missing": (lambda folder: (folder / "run.json").unlink(), "FileNotFoundError"),
    "run.json is empty": (put("run.json", b""), "JSONDecodeError"),
    "run.json is cut": (cut("run.json"), "JSONDecodeError"),
    "run.json is no text": (put("run.json", b"\xff\xfe"), "UnicodeDecodeError"),
    "run.json is a list": (put("run.json", b"[]"), "AttributeError"),
    "run.json is deep": (put("run.json", b"[" * 100_000), "RecursionError"),
    "run.json has NaN": (put("run.json", b'{"task": NaN}'), "NaN is not JSON"),
    "run.json has a long number": (put("run.json", b'{"task": ' + b"9" * 5000 + b"}"), "ValueError"),
    "one metric is changed": (edit(lambda c: c["metrics"].update(mean=0.25), True), "run.json is not what was written"),
    "one answer is missing": (edit(lambda c: c["answer"].clear(), True), "run.json is not what was written"),
    "there is no task": (edit(lambda c: c.pop("task")), "KeyError"),
    "the task is a text": (edit(lambda c: c.update(task="fit")), "TypeError"),
    "the seed is a text": (edit(lambda c: c["task"].update(seed="1")), "'seed' of its task is not of the type int"),
    "the task knows more": (edit(lambda c: c["task"].update(more=1)), "TypeError"),
    "the metrics are a list": (edit(lambda c: c.update(metrics=[1])), "'metrics' of run.json is not of the type dict"),
    "a metric is a text": (edit(lambda c: c["metrics"].update(mean="x")), "the metric 'mean' is not a number"),
    "a warning is a number": (edit(lambda c: c["warnings"].append(1)), "a warning is not a text"),
    "a table is missing": (lambda folder: (folder / "trace.parquet").unlink(), "trace.parquet is missing"),
    "a table is flipped": (flip("trace.parquet"), "trace.parquet is not what was written"),
    "a table is cut": (old(cut("trace.parquet")), "ArrowInvalid"),
    "a table is a folder": (lambda folder: (folder / "x.parquet").mkdir(), "IsADirectoryError"),
    "a table is too many": (put("more.parquet", b""), "more.parquet is not what was written"),
    "arrays are flipped": (flip("arrays.npz"), "arrays.npz is not what was written"),
    "arrays are cut": (old(cut("arrays.npz")), "not an .npz file, or a damaged one"),
    "arrays are text": (old(put("arrays.npz", b"text")), "not an .npz file, or a damaged one"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_record_is_one_line(tmp_path: Path, name: str) -> None:
    damage, fault = DAMAGES[name]
    folder = tmp_path / "record"
    record.write(example(), folder)
    damage(folder)
    with pytest.raises(InputError) as caught:
        record.read(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder}: has no readable run record (")
    assert fault in said
    assert "\n" not in said
    if record.is_record(folder):  # a command with --out
        with pytest.raises(InputError, match="--overwrite replaces it"):
            record.check_place(folder, key(example().task, versions()))
        assert record.check_place(folder, "key", overwrite=True) is None


def test_a_record_from_before_there_were_checksums_is_read(tmp_path: Path) -> None:
    record.write(example(), tmp_path / "record")
    edit(lambda content: None)(tmp_path / "record")
    assert record.same_bits(record.read(tmp_path / "record"), example())


# -- checkpoints -----------------------------------------------------------------------------------

STATE = pack({"step": 3, "counts": np.arange(6)})
CHECKPOINTS = {
    "empty": b"",
    "text": b"not a checkpoint\n",
    "cut": STATE[:-9],
    "flipped": STATE[:200] + bytes([STATE[200] ^ 1]) + STATE[201:],
    "doubled": STATE + STATE,
    "head alone": STATE[:85],
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_damaged_checkpoint_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    checkpoint = Checkpoint(tmp_path, example().task)
    checkpoint.folder.mkdir()
    checkpoint.path.write_bytes(CHECKPOINTS[name])
    (checkpoint.folder / "seconds.json").write_bytes(b"[" * 100_000)
    assert Checkpoint(tmp_path, example().task).load() is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"bayestopics: {checkpoint.path}: this checkpoint is damaged (")
    assert (checkpoint.folder / "whole.damaged").read_bytes() == CHECKPOINTS[name]
    assert not checkpoint.path.exists()
