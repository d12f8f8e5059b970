"""Hashes of code: they follow imports, and change when, and only when, what is imported changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayestopics.base import code

FILES = {
    "__init__.py": "",
    "base/jit.py": "def kernel(function): return function\n",
    "base/__init__.py": "",
    "cli.py": "def main():\n    from bayestopics.study import run\n",  # inside a function
    # of what a package names in strings a run takes one
    "study/__init__.py": "from bayestopics.study.steps import step\nNAMED = 'bayestopics.study.unused'\n",
    "study/run.py": "import bayestopics.numbers\nimport numpy\nfrom bayestopics.kernels.fast import sweep as quick\n",
    "study/steps.py": "from . import helper\nfrom ..numbers import one\n",
    "study/helper.py": "",
    "study/unused.py": "",
    "numbers.py": "from bayestopics import cli\none = 1\nREGISTRY = {'two': 'bayestopics.named'}\n",  # a circle
    "named.py": "",
    "kernels/__init__.py": "",
    "kernels/fast.py": "from bayestopics.base.jit import kernel\n",
    "kernels/slow.py": "x = 1\n",
}
REACHED = (
    "",
    ".base.jit",
    ".cli",
    ".kernels.fast",
    ".named",
    ".numbers",
    ".study",
    ".study.helper",
    ".study.run",
    ".study.steps",
)
RUN = [f"bayestopics{name}" for name in REACHED]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    """As a new process does."""
    code._imports.cache_clear()
    code._source.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "bayestopics"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(code, "ROOT", root)
    monkeypatch.setattr(code, "CACHE", tmp_path / "cache")
    return root


def changed_by(root: Path, measure: Callable[[], str], change: str = "changed = True\n") -> set[str]:
    """The files whose change changes a hash."""
    answer = set()
    for path in root.rglob("*.py"):
        forget()
        text, before = path.read_text(), measure()
        path.write_text(text + change)
        forget()
        if measure() != before:
            answer.add(path.relative_to(root).as_posix())
        path.write_text(text)
        forget()
        assert measure() == before
    return answer


TWICE = '''"""What this file is for."""  # and a comment
def twice(x):
    """Two of it."""
    return 2 * x
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("  # and a comment", "", True),
        ("What this file is for.", "What it is for, in other words.", True),
        ("Two of it.", "Twice as much.", True),
        ('    """Two of it."""\n', "", True),
        ("2 * x", "(2  *  # of it\n            x)", True),
        ("2 * x", "3 * x", False),
        ("2 * x", "x * 2", False),
        ("twice(x)", "double(x)", False),
        ("    return", '    "a string that is no docstring"\n    return', False),
    ],
)
def test_comments_and_docstrings_cost_no_results(package: Path, old: str, new: str, same: bool) -> None:
    path = package / "study" / "helper.py"
    path.write_text(TWICE)
    before, kernels = code.code_hash("bayestopics.study.run"), code.kernel_hash()
    assert old in TWICE
    path.write_text(TWICE.replace(old, new))
    forget()
    assert (code.code_hash("bayestopics.study.run") == before) == same
    assert code.kernel_hash() == kernels


def test_imports_are_followed(package: Path) -> None:
    assert code.modules_used("bayestopics.study.run") == RUN
    assert code.modules_used("bayestopics.kernels.slow") == ["bayestopics.kernels.slow"]
    assert code.modules_used("bayestopics.study.unused", "bayestopics.cli") == sorted(
        [*RUN, "bayestopics.study.unused"]
    )
    with pytest.raises(ValueError, match=r"no module bayestopics\.nothing"):
        code.modules_used("bayestopics.nothing")


def test_code_hash_changes_with_what_is_imported(package: Path) -> None:
    used = changed_by(package, lambda: code.code_hash("bayestopics.study.run"))
    names = {name for name in FILES if name.endswith("__init__.py")}  # they are followed, but not hashed
    assert used == set(FILES) - names - {"study/unused.py", "kernels/slow.py"}
    assert changed_by(package, lambda: code.code_hash("bayestopics.study.helper")) == {"study/helper.py"}


def test_code_hash_does_not_depend_on_the_place(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code.code_hash("bayestopics.cli")
    elsewhere = package.parent / "elsewhere" / "bayestopics"
    shutil.copytree(package, elsewhere)
    monkeypatch.setattr(code, "ROOT", elsewhere)
    assert code.code_hash("bayestopics.cli") == before
    (elsewhere / "study" / "helper.py").rename(elsewhere / "study" / "run2.py")  # same content, another name
    forget()
    assert code.code_hash("bayestopics.cli") != before


def test_a_new_import_is_noticed(package: Path) -> None:
    before = code.code_hash("bayestopics.kernels.slow")
    (package / "kernels" / "slow.py").write_text("from bayestopics.kernels import fast\n")
    forget()
    assert code.code_hash("bayestopics.kernels.slow") != before
    assert "bayestopics.base.jit" in code.modules_used("bayestopics.kernels.slow")


def test_kernel_hash_changes_with_kernels(package: Path) -> None:
    assert changed_by(package, code.kernel_hash) == {"kernels/fast.py", "base/jit.py"}
    before = code.kernel_hash()
    (package / "study" / "new.py").write_text("from bayestopics.base.jit import kernel\n")
    forget()
    assert code.kernel_hash() != before
    with_new = code.kernel_hash()
    (package / "study" / "new.py").rename(package / "study" / "newer.py")  # the same content in another module
    forget()
    assert code.kernel_hash() not in (before, with_new)


def test_the_package_itself() -> None:
    used = code.modules_used("bayestopics.runs.fit")
    assert {
        "bayestopics.lda.density",
        "bayestopics.corpus.corpus",
        "bayestopics.base.seeds",
        "bayestopics.base.jit",
    } <= set(used)
    assert "bayestopics.cli" not in used
    assert len(code.code_hash("bayestopics.cli")) == len(code.kernel_hash()) == 16
    for path in code.ROOT.rglob("*.py"):  # every module can be followed
        module = ".".join(["bayestopics", *path.relative_to(code.ROOT).with_suffix("").parts]).removesuffix(".__init__")
        assert module in code.modules_used(module)


def test_answers_are_kept_and_damaged_ones_are_not_believed(package: Path, tmp_path: Path) -> None:
    before = code.code_hash("bayestopics.study.run")
    kept = sorted((tmp_path / "cache" / "sources").iterdir())
    assert len(kept) == len(RUN)
    for content in ("", "{", "[1]", '{"meaning": 1}'):
        for path in kept:
            path.write_text(content)
        forget()
        assert code.code_hash("bayestopics.study.run") == before
    assert sorted((tmp_path / "cache" / "sources").iterdir()) == kept


def test_a_cache_that_cannot_be_written_is_no_error(package: Path, tmp_path: Path) -> None:
    before = code.code_hash("bayestopics.study.run")
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    forget()
    assert code.code_hash("bayestopics.study.run") == before
