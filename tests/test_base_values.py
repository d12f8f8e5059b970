"""Seeds, plain JSON and lines of files, on values that can be seen to be right."""

from __future__ import annotations

import json
from pathlib import Path

import numba
import numpy as np

from bayestopics.base import jit
from bayestopics.base.files import read_lines
from bayestopics.base.plain import canonical, without_nan
from bayestopics.base.seeds import generator


def test_the_seed_and_the_key_both_decide_a_stream() -> None:
    """Guards against chains that share their random numbers."""
    named = [(seed, key) for seed in (0, 1, 7) for key in ("", "a", "b", "chain/1", "chain/2")]
    streams = {one: tuple(generator(*one).integers(2**63, size=3).tolist()) for one in named}
    assert len(set(streams.values())) == len(named)
    assert streams == {one: tuple(generator(*one).integers(2**63, size=3).tolist()) for one in named}


def test_json_has_no_number_that_is_none() -> None:
    """Guards against NaN and Infinity in records, which other programs cannot read."""
    value = {"a": [1.5, float("nan"), float("inf"), -float("inf")], 2: np.array([1.0, np.inf]), "n": np.int64(3)}
    plain = {"a": [1.5, None, None, None], "2": [1.0, None], "n": 3}
    assert without_nan(value) == plain
    assert json.loads(canonical(value)) == plain


def test_the_last_line_counts_with_and_without_an_end(tmp_path: Path) -> None:
    """Guards against a reader that drops the last document of a file."""
    path = tmp_path / "x"
    for text, lines in (("a\nb\n", ["a", "b"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\n\n", ["a", ""])):
        path.write_bytes(text.encode())
        assert read_lines(path) == lines


def test_copies_of_the_package_share_their_kernels(tmp_path: Path) -> None:
    """Guards a place that depends on the path of the package, and kernels of others in one place."""
    place = jit.OneForAllCopies.get_suitable_cache_subpath
    assert place(str(jit.PACKAGE / "lda" / "sparse.py")) == "lda"
    assert place(str(jit.PACKAGE / "evidence" / "jump.py")) == "evidence"
    assert place(str(tmp_path / "a" / "x.py")) != place(str(tmp_path / "b" / "a" / "x.py"))
    assert jit.kernel(jit_example)(2) == 3
    assert jit.OneForAllCopies.__name__ in numba.config.CACHE_LOCATOR_CLASSES  # type: ignore[attr-defined]


def jit_example(number: int) -> int:
    return number + 1
