"""Hashes of the code that made a result.

Snakemake does not look inside packages, and numba's cache does not notice a change in another file. These hashes tell
both: the parameters of a rule include the `code_hash` of the modules that it runs, and the kernel cache is in a folder
named after `kernel_hash`. A hash is computed from the syntax tree without comments and docstrings, so that rewording a
comment does not cost a night of computing. A package's `__init__` only lists names: the modules that it imports are
followed, but it is not hashed itself, so that registering a new sampler does not rerun the others.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT.name
MODULE = re.compile(rf"{PACKAGE}(\.\w+)+")


def _file(module: str) -> Path | None:
    """The source file of bayestopics.a.b, if there is such a module."""
    path = ROOT.joinpath(*module.split(".")[1:])
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None


@cache
def _imports(module: str) -> frozenset[str]:
    """The package's own modules that this one imports, at its top or inside functions, or names in a string.

    Modules that a package's `__init__` names in strings do not count: they are a registry, of which a run uses one
    entry and names it itself.
    """
    path = _file(module)
    if path is None:
        return frozenset()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            names.add(source)
            names.update(f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and path.name != "__init__.py":
            names.update([node.value] if MODULE.fullmatch(node.value) else [])
    return frozenset(name for name in names if name.split(".")[0] == PACKAGE and _file(name))


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below this one, except imports for type checking only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)


def modules_used(*entry: str) -> list[str]:
    """All package modules that these modules import, directly or indirectly, and the modules themselves."""
    seen: set[str] = set()
    todo = list(entry)
    while todo:
        module = todo.pop()
        if module in seen:
            continue
        if _file(module) is None:
            raise ValueError(f"there is no module {module}")
        seen.add(module)
        todo += _imports(module)
    return sorted(seen)


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _meaning(path: Path) -> bytes:
    """The syntax tree of a file as text, which does not depend on comments, docstrings and line breaks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree).encode()


def _hash_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = _meaning(path)
        digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def code_hash(*entry: str) -> str:
    """A hash of the sources of these modules and of all package modules that they import."""
    paths = [path for module in modules_used(*entry) if (path := _file(module))]
    return _hash_files(path for path in paths if path.name != "__init__.py")


def kernel_hash() -> str:
    """A hash of every module that has compiled kernels, and of the module that compiles them."""
    marker = re.compile(r"^\s*from bayestopics\.base\.jit import", re.MULTILINE)
    kernels = (p for p in ROOT.rglob("*.py") if marker.search(p.read_text(encoding="utf-8")))
    return _hash_files({*kernels, ROOT / "base" / "jit.py"})
