"""The lists of bugs that tests must catch (`make mutants`): each can be put in, and the runner tells the ends apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.run import ROOT, Mutant, read_lists, try_all

MUTANTS = read_lists()


def test_every_bug_has_a_name_of_its_own() -> None:
    names = [one.name for one in MUTANTS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("package", sorted({one.package for one in MUTANTS}))
def test_every_bug_can_be_put_in(package: str) -> None:
    """Guards against entries that a change of the code has left behind."""
    faults = {}
    for one in (one for one in MUTANTS if one.package == package):
        try:
            one.applied(ROOT)
        except (ValueError, OSError, SyntaxError) as error:
            faults[one.name] = str(error)
        if missing := [test for test in one.tests if not (ROOT / test.partition("::")[0]).is_file()]:
            faults[one.name] = f"no {missing}"
    assert not faults


FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['tests']\n",
    "src/bayestopics/__init__.py": "def twice(x):\n    return x + x\n\ndef half(x):\n    return x / 2\n",
    "tests/test_twice.py": (
        "import pytest\nfrom bayestopics import half, twice\n"
        "def test_twice(): assert twice(3) == 6\n"
        "def test_half(): half(4)\n"
        "def test_skipped(): pytest.skip()\n"
        "@pytest.fixture\ndef made(): assert half(4) == 2\n"
        "def test_fixture(made): pass\n"
    ),
}
TWICE, HALF = ("x + x", "x + 3 * x"), ("x / 2", "x / 3")
CASES = {
    "a right test": (TWICE, "test_twice", "caught"),
    "a weak test": (HALF, "test_half", "survived"),
    "a test that is skipped": (TWICE, "test_skipped", "broken"),
    "a fixture that fails": (HALF, "test_fixture", "broken"),
    "no such test": (TWICE, "test_nothing", "broken"),
    "nothing to import": (("def twice", "def double"), "test_twice", "broken"),
}


def test_the_runner_tells_the_ends_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a runner that takes a test that cannot run for one that has caught a bug."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts pytest a dozen times
    ends = try_all([mutant(*case[:2], name) for name, case in CASES.items()], repository(tmp_path), workers=2)
    assert {name: end for name, (end, _) in ends.items()} == {name: end for name, (*_, end) in CASES.items()}
    assert {name: (tmp_path / name).read_text() for name in FILES} == FILES  # the work tree is never touched


@pytest.mark.parametrize(
    ("old", "new"), [("x - x", "x + x"), ("return", "yield"), ("x + x", "x  +  x"), ("x + x", "x +")]
)
def test_a_bug_that_is_none_is_refused(tmp_path: Path, old: str, new: str) -> None:
    """Text that is not there, or twice, or means the same, or means nothing."""
    with pytest.raises((ValueError, SyntaxError)):
        mutant((old, new), "test_twice").applied(repository(tmp_path))


def repository(root: Path) -> Path:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def mutant(change: tuple[str, str], test: str, name: str = "") -> Mutant:
    return Mutant(name, "src/bayestopics/__init__.py", *change, (f"tests/test_twice.py::{test}",), "made up")
