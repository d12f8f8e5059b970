"""Do the tests catch plausible bugs? Each entry of the lists beside this file is one; `make mutants` tries them all.

A list is a YAML file with one package's bugs. An entry has five fields:

    - name: the bug in words, unique over all lists
      file: src/bayestopics/hyper/best.py        (from the root of the repository)
      old: "code that occurs exactly once in that file"
      new: "the same code with the bug"
      tests: [tests/hyper/test_best.py]          (files or node ids of pytest, at least one of which should fail)

The bug is put into a copy of the repository, never into the work tree, and `pytest -x -q` runs those tests there. It
is caught if a test fails. If the tests end in any other way, the entry is broken: it does not apply, or its tests fail
without the bug too, or nothing is collected, or an import or a fixture fails, or the time runs out.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).parent
GOAL = 0.95  # the share of the bugs that must be caught
LONGEST = 900  # seconds for the tests of one bug
# of no use in a copy, and large
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".snakemake", ".*_cache", "*.egg-info", "data")
OUTSIDE = ("ImportError", "ModuleNotFoundError", "SyntaxError", "NameError")  # a slip of the list, not a wrong number


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    package: str

    def applied(self, root: Path) -> str:
        """The text of the file with the bug in it."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"its old text occurs {count} times in {self.file}")
        changed = text.replace(self.old, self.new)
        if self.file.endswith(".py") and _tree(changed) == _tree(text):
            raise ValueError("it changes nothing but text")
        return changed


def _tree(text: str) -> str:
    """The syntax tree, without docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:  # type: ignore[arg-type]
            node.body = node.body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def read_lists(folder: Path = LISTS) -> list[Mutant]:
    found = []
    for path in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            found.append(Mutant(**{**entry, "tests": tuple(entry["tests"])}, package=path.stem))
    return found


class Copy:
    """A copy of the repository to run tests in, with a cache of its own for compiled kernels."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = folder / "repository", folder
        # of the results only the kept ones are in git
        skipped = [str(path) for path in (root / "results").glob("*") if path.name not in ("README.md", "paper")]
        shutil.copytree(
            root,
            self.root,
            ignore=lambda at, names: {
                *NOT_COPIED(at, names),
                *(name for name in names if os.path.join(at, name) in skipped),
            },
        )
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "BAYESTOPICS_CACHE": str(folder / "cache"),
        }

    @contextmanager
    def holding(self, mutant: Mutant) -> Any:
        path = self.root / mutant.file
        before, times = path.read_bytes(), path.stat()
        path.write_text(mutant.applied(self.root), encoding="utf-8")
        self._forget(path)
        try:
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # for numba, which keeps its kernels by the time
            self._forget(path)

    def _forget(self, path: Path) -> None:
        """Python takes an old .pyc file for the new one's if the sizes are equal and the times within a second."""
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)

    def run(self, tests: Sequence[str], stop: bool = True) -> tuple[str, str]:
        """("pass", ""), ("fail", which), or ("error", why)."""
        record = self.folder / "tests.xml"
        record.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", f"--junitxml={record}", *(["-x"] if stop else [])]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return "error", f"no end after {LONGEST} s"
        if done.returncode not in (0, 1) or not record.is_file():
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            return "error", " | ".join(lines[-3:])
        cases = list(ElementTree.parse(record).iter("testcase"))
        for case in cases:
            name = f"{case.get('classname')}::{case.get('name')}"
            if (failure := case.find("failure")) is not None:
                message = failure.get("message", "")
                return ("error", f"{name}: {message}") if message.startswith(OUTSIDE) else ("fail", name)
            if (error := case.find("error")) is not None:
                return "error", f"{name}: {error.get('message')}"
        if all(case.find("skipped") is not None for case in cases):
            return "error", "every test was skipped"
        return "pass", ""

    def check(self) -> None:
        """That tests here import the copy, whatever is installed."""
        command = [sys.executable, "-c", "import bayestopics; print(bayestopics.__file__)"]
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=True)
        if not Path(done.stdout.strip()).is_relative_to(self.root):
            raise RuntimeError(f"the tests would import {done.stdout.strip()}")


def broken_before(copy: Copy, mutants: Sequence[Mutant]) -> dict[str, str]:
    """Name: why, of those whose tests do not pass without the bug."""
    if copy.run(list(dict.fromkeys(test for one in mutants for test in one.tests)))[0] == "pass":
        return {}
    answers = {tests: copy.run(tests) for tests in {one.tests for one in mutants}}
    return {
        one.name: f"without the bug: {why}" for one in mutants for end, why in [answers[one.tests]] if end != "pass"
    }


def try_all(mutants: Sequence[Mutant], root: Path = ROOT, workers: int = 1) -> dict[str, tuple[str, str]]:
    """Name: ("caught" | "survived" | "broken", which test or why)."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: Queue[Copy] = Queue()
        for number in range(workers):
            copies.put(Copy(root, Path(folder) / str(number)))
        first = copies.get()
        first.check()
        started = time.monotonic()
        before = broken_before(first, mutants)
        print(f"{time.monotonic() - started:6.0f} s  the tests without any bug", flush=True)
        copies.put(first)

        def one(mutant: Mutant) -> tuple[str, str]:
            copy, started = copies.get(), time.monotonic()
            try:
                if mutant.name in before:
                    answer = "broken", before[mutant.name]
                else:
                    with copy.holding(mutant):
                        end, what = copy.run(mutant.tests)
                    answer = {"fail": "caught", "pass": "survived", "error": "broken"}[end], what
            except (ValueError, OSError, SyntaxError) as error:
                answer = "broken", str(error)
            finally:
                copies.put(copy)
            print(f"{time.monotonic() - started:6.0f} s  {answer[0]:8}  {mutant.name}  {answer[1]}", flush=True)
            return answer

        with ThreadPoolExecutor(workers) as threads:
            return dict(zip([mutant.name for mutant in mutants], threads.map(one, mutants), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Put plausible bugs into a copy of the code, and run the tests on it.")
    parser.add_argument("packages", nargs="*", help="only these lists, such as hyper (default: all)")
    parser.add_argument("-k", dest="parts", action="append", help="only entries with this text in their name; or this")
    parser.add_argument("-n", dest="workers", type=int, default=1, help="how many at a time")
    given = parser.parse_args(arguments)
    lists = read_lists()
    if unknown := set(given.packages) - {one.package for one in lists}:
        parser.error(f"no list {', '.join(sorted(unknown))}; there are {', '.join(sorted({m.package for m in lists}))}")
    chosen = [one for one in lists if one.package in (given.packages or [one.package])]
    chosen = [one for one in chosen if any(part in one.name for part in given.parts or [""])]
    if not chosen:
        parser.error("no such entry")
    started = time.monotonic()
    answers = try_all(chosen, workers=given.workers)
    ends = {end: [name for name, (is_, _) in answers.items() if is_ == end] for end in ("caught", "survived", "broken")}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = f"{time.monotonic() - started:.0f} s ({used.ru_utime + used.ru_stime:.0f} s of CPU)"
    print(f"\n{len(answers)} tried, {len(ends['caught'])} caught in {seconds}")
    for end in ("survived", "broken"):
        for name in ends[end]:
            print(f"{end}: {name} {answers[name][1]}".rstrip())
    return 0 if len(ends["caught"]) >= GOAL * len(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
