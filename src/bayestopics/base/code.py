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
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT.name
MODULE = re.compile(rf"{PACKAGE}(\.\w+)+")
CACHE = Path(os.environ.get("BAYESTOPICS_CACHE") or Path.home() / ".cache" / "bayestopics")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _file(module: str) -> Path | None:
    """The source file of bayestopics.a.b, if there is such a module."""
    path = ROOT.joinpath(*module.split(".")[1:])
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None


class Source(NamedTuple):
    """What the hashes need to know about a source file."""

    meaning: str  # a hash that does not depend on comments, docstrings and line breaks
    names: list[str]  # everything of the package that may be a module that it uses


@cache
def _source(path: Path) -> Source:
    """What a source file means and names. To parse all files takes a second, so the answers are kept on disk."""
    content = path.read_bytes()
    inside = path.relative_to(ROOT).as_posix()
    key = f"{inside} {sys.version_info[:2]}\n".encode() + RULES + content
    kept = CACHE / "sources" / f"{hashlib.sha256(key).hexdigest()}.json"
    with suppress(OSError, ValueError, TypeError):
        return Source(**json.loads(kept.read_bytes()))
    tree = ast.parse(content)
    source = Source(names=sorted(_names(tree, inside)), meaning=_meaning(tree))
    temporary = kept.with_suffix(f".{os.getpid()}")
    with suppress(OSError):  # then it is parsed again next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(source._asdict()), encoding="utf-8")
        temporary.replace(kept)
    return source


RULES = Path(__file__).read_bytes()  # other rules here give other answers


def _names(tree: ast.Module, inside: str) -> set[str]:
    """What a file imports from the package, at its top or inside functions, and the modules that it names in strings.

    Modules that a package's `__init__` names in strings do not count: they are a registry, of which a run uses one
    entry and names it itself.
    """
    *folders, file = inside.split("/")
    package = ".".join([PACKAGE, *folders])
    names: set[str] = set()
    for node in _running(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            names.add(source)
            names.update(f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and file != "__init__.py":
            names.update([node.value] if MODULE.fullmatch(node.value) else [])
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below this one, except imports for type checking only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)


def _meaning(tree: ast.Module) -> str:
    """A hash of a syntax tree without its docstrings, which are taken out of it."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def _imports(module: str) -> frozenset[str]:
    """The package's own modules that this one imports or names."""
    path = _file(module)
    return frozenset(name for name in _source(path).names if _file(name)) if path else frozenset()


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


def _hash_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {_source(path).meaning}\n".encode())
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
