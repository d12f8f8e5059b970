"""Packed state: what goes in comes out, damage is noticed, and nothing in a file is ever run."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bayestopics.base.packing import MAGIC, STRUCTURE, Damaged, pack, unpack


@dataclasses.dataclass
class Plain:
    number: int
    inner: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    values: np.ndarray
    total: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self) -> None:
        assert CALLABLE, "unpacking calls nothing"
        object.__setattr__(self, "total", float(self.values.sum()))


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    name: str
    pair: tuple[int, ...]


class Outer:
    @dataclasses.dataclass
    class Inner:
        x: int


@dataclasses.dataclass
class Child(Plain):
    more: str = "more"


class NoDataclass:
    number = 1


CALLABLE = True  # whether a Frozen may be made by its constructor


def same(first: Any, second: Any) -> bool:
    """Equal, and of the same types, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray | np.generic):
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    if isinstance(first, float):
        return (first == second and math.copysign(1, first) == math.copysign(1, second)) or first != first != second
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return same([*first.items()], [*second.items()])
    if dataclasses.is_dataclass(first):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first))
    if isinstance(first, np.random.Generator):
        return same(first.bit_generator.state, second.bit_generator.state)
    if isinstance(first, pd.DataFrame | pd.Series):
        return first.equals(second) and first.index.equals(second.index) and same(first.attrs, second.attrs)
    return bool(first == second)


# -- what goes in comes out ------------------------------------------------------------------------------

VALUES: dict[str, Any] = {
    "nothing": None,
    "bools": [True, False],
    "numbers": [0, -1, 2**200, 0.1, -0.0, 5e-324, math.nan, math.inf, -math.inf],
    "text": ["", "zu kurz – ‘nan’", "\x00", "\ud800", '"}\\'],
    "containers": ([], (), {}, [()], ([], [{}]), {"a": {"b": (1, [2])}}),
    "keys": {1: "int", "1": "text", (1, ("a", 2)): "tuple", None: "none", 2.5: "float"},
    "order of keys": {"b": 1, "a": 2},
    "names like ours": {"tuple": [1], "dict": {"array": [0, True]}, "dataclass": ["os", "system", {}]},
    "arrays": [np.arange(6).reshape(2, 3), np.array([np.nan, -0.0]), np.zeros((0, 3)), np.array(7), np.array(True)],
    "kinds of arrays": [np.zeros(2, t) for t in ("?", "i1", "u2", ">i4", "f2", "c16", "U3", "S2", "M8[s]", "i4,f8")],
    "layouts": [np.arange(12).reshape(3, 4).T, np.arange(10)[::2], np.asfortranarray(np.eye(3))],
    "scalars": [np.float64(0.1), np.float32(0.1), np.int64(3), np.bool_(True), np.str_("x"), np.datetime64("2020")],
    "dataclasses": [Plain(1, [Plain(2)]), Frozen(np.arange(3.0)), Slots("x", (1, 2)), Outer.Inner(5), Child(1, 2, "3")],
    "table": pd.DataFrame({"x": [1, 2], "y": [0.5, np.nan], "z": ["a", None]}),
    "table with an index": pd.DataFrame({"x": [1, 2]}, index=pd.Index([7, 9], name="T")),
    "empty table": pd.DataFrame({"x": np.array([], np.int32)}),
    "series": [pd.Series([1, 2], name="x"), pd.Series([0.5], index=["a"]), pd.Series([True], name=("a", 1))],
}


@pytest.mark.parametrize("name", VALUES)
def test_round_trip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack(VALUES[name])
    monkeypatch.setitem(globals(), "CALLABLE", False)
    assert same(unpack(data), VALUES[name])
    assert pack(unpack(data)) == data or name == "layouts"  # whose arrays are laid out anew


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_a_generator_goes_on_in_the_middle_of_its_stream(kind: str) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(5))
    rng.random(7)
    rng.integers(10, dtype=np.uint32)  # half of a word is kept for the next
    back = unpack(pack({"rng": rng}))["rng"]
    assert type(back.bit_generator).__name__ == kind
    for draw in (lambda r: r.integers(10, size=5, dtype=np.uint32), lambda r: r.normal(size=9), lambda r: r.random(4)):
        assert draw(back).tobytes() == draw(rng).tobytes()


def test_arrays_are_writable_as_they_were_and_shared_as_they_were() -> None:
    one, fixed = np.arange(3), np.arange(3)
    fixed.flags.writeable = False
    back = unpack(pack([one, {"same": one, "equal": one.copy()}, Plain(1, fixed), (fixed, one)]))
    assert back[0] is back[1]["same"] is back[3][1]
    assert back[0] is not back[1]["equal"]
    assert back[2].inner is back[3][0]
    assert back[0].flags.writeable
    assert back[1]["equal"].flags.writeable
    assert not back[2].inner.flags.writeable
    back[0][0] = 9
    assert back[1]["same"][0] == 9
    assert one[0] == 0


REFUSED = {
    "set": {1},
    "bytes": b"x",
    "complex": 1j,
    "function": len,
    "class": Plain,
    "object": object(),
    "no dataclass": NoDataclass(),
    "path": Path("x"),
    "objects": np.array([object()]),
    "fields of objects": np.zeros(2, [("x", object)]),
    "mask": np.ma.masked_array([1, 2], [True, False]),
    "module": json,
    "iterator": iter([]),
    "deep": [{"a": (Plain(1, {2}),)}],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_packed_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="cannot be packed"):
        pack(REFUSED[name])


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
arrays = hnp.arrays(
    hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.floating_dtypes(), hnp.array_shapes(min_dims=0, min_side=0)
)
keys = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda k: st.tuples(k, k), max_leaves=3)
nested = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=4)
        | st.builds(Plain, st.integers(), inner)
        | st.builds(Slots, st.text(), st.tuples(st.integers(), st.integers()))
    ),
    max_leaves=12,
)


@given(nested)
def test_anything_nested(value: Any) -> None:
    assert same(unpack(pack(value)), value)


@given(st.binary(max_size=400))
def test_any_bytes_are_damage(data: bytes) -> None:
    for given_bytes in (data, MAGIC + data, sealed(data)):
        with pytest.raises(Damaged):
            unpack(given_bytes)


# -- damage ----------------------------------------------------------------------------------------------

WHOLE = pack({"rows": [1.5] * 50, "z": np.arange(200), "state": Plain(1, pd.DataFrame({"x": [1]}))})


def test_cut_short_anywhere() -> None:
    lengths = {*range(120), *range(0, len(WHOLE), 37), *range(len(WHOLE) - 60, len(WHOLE))}
    for length in lengths:
        with pytest.raises(Damaged):
            unpack(WHOLE[:length])
    with pytest.raises(Damaged):
        unpack(WHOLE + b"\x00")


def test_a_byte_changed_anywhere() -> None:
    for place in {*range(150), *range(0, len(WHOLE), 23), *range(len(WHOLE) - 60, len(WHOLE))}:
        for change in (1, 128):
            data = bytearray(WHOLE)
            data[place] ^= change
            with pytest.raises(Damaged):
                unpack(bytes(data))


# -- planted ---------------------------------------------------------------------------------------------


def sealed(body: bytes) -> bytes:
    """Any content with the right checksum."""
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def archive(structure: Any, **more: Any) -> bytes:
    content = io.BytesIO()
    text = json.dumps(structure).encode()
    np.savez(content, **{STRUCTURE: np.frombuffer(text, np.uint8)}, **more)
    return content.getvalue()


class Bomb:
    """Leaves a mark if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bomb = pickle.dumps(Bomb(mark))
    objects = np.array([Bomb(mark)], dtype=object)
    single = io.BytesIO()
    np.save(single, objects, allow_pickle=True)
    planted = [
        bomb,
        MAGIC + bomb,
        sealed(bomb),
        sealed(single.getvalue()),
        sealed(archive({"array": [0, True]}, a0=objects)),
        sealed(archive({"scalar": 0}, a0=objects)),
        sealed(archive(None, unused=objects)),
        sealed(archive({"table": 0}, a0=np.frombuffer(bomb, np.uint8))),
    ]
    for data in planted:
        with pytest.raises(Damaged):
            unpack(data)
    assert not mark.exists()
    pickle.loads(bomb)  # it would have
    assert mark.exists()


def of(module: str, name: str, **content: Any) -> dict[str, Any]:
    return {"dataclass": [module, name, content]}


HERE = __name__
PLANTED: dict[str, Any] = {
    "a function": of("os", "system", command="true"),
    "a class that runs": of("subprocess", "Popen", args="true"),
    "a function by a way around": of("bayestopics.base.files", "os.system"),
    "no dataclass": of(HERE, "NoDataclass", number=1),
    "no such module": of("no.such.module", "Plain", number=1, inner=None),
    "a module that is not imported": of("antigravity", "Plain"),
    "no such class": of(HERE, "Plane", number=1, inner=None),
    "a dunder": of(HERE, "Plain.__init__.__globals__", number=1, inner=None),
    "a field too few": of(HERE, "Plain", number=1),
    "a field too many": of(HERE, "Plain", number=1, inner=None, more=2),
    "other fields": of(HERE, "Plain", number=1, outer=None),
    "fields that are none": {"dataclass": [HERE, "Plain", 7]},
    "an instance": of(HERE, "WHOLE", number=1, inner=None),
    "an unknown kind": {"call": ["os.system", "true"]},
    "two kinds": {"tuple": [], "dict": []},
    "no kind": {},
    "a missing array": {"array": [3, True]},
    "an array without flags": {"array": [0]},
    "a list as a key": {"dict": [[[1], 2]]},
    "an unknown generator": {"generator": {"dict": [["bit_generator", "system"]]}},
    "a generator without state": {"generator": {"dict": [["bit_generator", "PCG64"]]}},
    "a table that is none": {"table": 0},
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_with_the_right_checksum(name: str) -> None:
    with pytest.raises(Damaged):
        unpack(sealed(archive(PLANTED[name], a0=np.arange(3, dtype=np.uint8))))
    with pytest.raises(Damaged):
        unpack(sealed(archive([1, {"tuple": [PLANTED[name]]}], a0=np.arange(3, dtype=np.uint8))))


def test_looking_for_a_class_calls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that imports on demand is not asked for more."""
    import bayestopics

    asked: list[str] = []
    monkeypatch.setattr(bayestopics, "__getattr__", asked.append)
    with pytest.raises(Damaged, match=r"bayestopics.Result is not a dataclass here"):
        unpack(sealed(archive(of("bayestopics", "Result"))))
    assert asked == []


def test_an_archive_without_a_structure_or_with_files_of_other_kinds() -> None:
    content = io.BytesIO()
    np.savez(content, a0=np.arange(3))
    with pytest.raises(Damaged):
        unpack(sealed(content.getvalue()))
    for text in (b"", b"{", b"[" * 100_000):
        content = io.BytesIO()
        np.savez(content, **{STRUCTURE: np.frombuffer(text, np.uint8)})
        with pytest.raises(Damaged):
            unpack(sealed(content.getvalue()))
