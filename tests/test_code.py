"""Hashes of code: they follow imports, and change when, and only when, what is imported changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayestopics import code

FILES = {
    "__init__.py": "",
    "jit.py": "def kernel(function): return function\n",
    "cli.py": "def main():\n    from bayestopics.study import run\n",  # inside a function
    "study/__init__.py": "from bayestopics.study.steps import step\n",
    "study/run.py": "import bayestopics.numbers\nimport numpy\nfrom bayestopics.kernels.fast import sweep as quick\n",
    "study/steps.py": "from . import helper\nfrom ..numbers import one\n",
    "study/helper.py": "",
    "study/unused.py": "",
    "numbers.py": "from bayestopics import cli\none = 1\n",  # a circle
    "kernels/__init__.py": "",
    "kernels/fast.py": "from bayestopics.jit import kernel\n",
    "kernels/slow.py": "x = 1\n",
}
REACHED = ("", ".cli", ".jit", ".kernels.fast", ".numbers", ".study", ".study.helper", ".study.run", ".study.steps")
RUN = [f"bayestopics{name}" for name in REACHED]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    code._imports.cache_clear()
    yield
    code._imports.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "bayestopics"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(code, "ROOT", root)
    return root


def changed_by(root: Path, measure: Callable[[], str]) -> set[str]:
    """The files whose change changes a hash."""
    answer = set()
    for path in root.rglob("*.py"):
        text, before = path.read_text(), measure()
        path.write_text(text + "# changed\n")
        if measure() != before:
            answer.add(path.relative_to(root).as_posix())
        path.write_text(text)
        assert measure() == before
    return answer


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
    code._imports.cache_clear()
    assert code.code_hash("bayestopics.cli") != before


def test_a_new_import_is_noticed(package: Path) -> None:
    before = code.code_hash("bayestopics.kernels.slow")
    (package / "kernels" / "slow.py").write_text("from bayestopics.kernels import fast\n")
    code._imports.cache_clear()  # a new process
    assert code.code_hash("bayestopics.kernels.slow") != before
    assert "bayestopics.jit" in code.modules_used("bayestopics.kernels.slow")


def test_kernel_hash_changes_with_kernels(package: Path) -> None:
    assert changed_by(package, code.kernel_hash) == {"kernels/fast.py", "jit.py"}
    before = code.kernel_hash()
    (package / "study" / "new.py").write_text("from bayestopics.jit import kernel\n")
    assert code.kernel_hash() != before


def test_the_package_itself() -> None:
    used = code.modules_used("bayestopics.runs.fit")
    assert {"bayestopics.lda.density", "bayestopics.corpus.corpus", "bayestopics.seeds", "bayestopics.jit"} <= set(used)
    assert "bayestopics.cli" not in used
    assert len(code.code_hash("bayestopics.cli")) == len(code.kernel_hash()) == 16
    for path in code.ROOT.rglob("*.py"):  # every module can be followed
        module = ".".join(["bayestopics", *path.relative_to(code.ROOT).with_suffix("").parts]).removesuffix(".__init__")
        assert module in code.modules_used(module)
