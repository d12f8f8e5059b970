"""A few hundred damaged files; `make test-faults` runs 50,000, in processes with limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayestopics.base.problems import InputError
from faults import fuzzing

CASES = 20  # of each reader


@pytest.mark.parametrize("reader", fuzzing.READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_is_refused_or_sound(tmp_path: Path, reader: fuzzing.Reader) -> None:
    if not fuzzing.known([reader]):
        pytest.skip("this format is not read yet")
    ends = []
    for number in range(CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        end, said = fuzzing.outcome(reader, fuzzing.files_of(reader, number), folder)
        assert end != "bug", f"case {number}: {said}"
        ends.append(end)
    assert "refused" in ends, "no mutation did any harm"


def test_a_case_is_always_the_same() -> None:
    reader = fuzzing.READERS[0]
    assert fuzzing.files_of(reader, 7) == fuzzing.files_of(reader, 7) != fuzzing.files_of(reader, 8)


def careless(folder: Path) -> object:
    return int((folder / "x").read_text())


def rambling(folder: Path) -> object:
    raise InputError(f"{folder}: " + "no " * 999)


def nameless(folder: Path) -> object:
    raise InputError("something is wrong")


def meddling(folder: Path) -> object:
    (folder / "left").write_text("")
    raise InputError(f"{folder}: no")


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (careless, "ValueError"),
        (rambling, "no no no"),
        (nameless, "something is wrong"),
        (meddling, "changed the files"),
    ],
)
def test_a_bad_reader_is_found(tmp_path: Path, read: object, fault: str) -> None:
    end, said = fuzzing.outcome(fuzzing.Reader("bad", {"x": b"?"}, read), {"x": b"?"}, tmp_path)  # type: ignore[arg-type]
    assert end == "bug"
    assert fault in said
