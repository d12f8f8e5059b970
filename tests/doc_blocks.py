"""The commands and the Python code of README.md and docs/*.md are run, page by page, and what they print is compared.

How to write a page (tests/docs/test_doc_blocks.py runs it):

- Every fence names its language. ```console, ```bash and ```python (or ```pycon) are run, in the order of the page, all
  in one temporary folder and one Python namespace per page. Fences in other languages (text, yaml, json, ...) are not
  run, and may not hold commands.
- ```console: lines that begin with `$ ` are commands, lines after one that begin with `> ` continue it, and what
  follows is its output. Output is compared (standard output and standard error together); a command without output in
  the page may print anything. ```bash holds commands alone, without a prompt, one on each line.
- ```python is run as it stands. If it has lines with `>>> `, it is a doctest, and its output is compared.
- In an output, `...` stands for anything within a line, and a line that holds `...` alone for any number of lines.
  Numbers may differ by one part in a million, blanks in number. Mask what depends on time: `seconds  ...`.
- Every command must end with exit code 0, unless `<!-- exits 2 -->` stands above the block: then its last command must
  end with 2.
- `<!-- setup`, a line end, commands, `-->` runs commands without showing them; `<!-- setup-python` does so with Python.
  Each page begins in an empty folder: make the corpus `my.ldac` there, in sight or in a setup.
- `<!-- with evidence: --sweeps 50 --passes 1 -->` adds these options to every later `bayestopics evidence` of the page,
  so that a page can show a command with its defaults. Its output cannot be shown then.
- `<!-- not run: why -->` above a block: it is not run. Its commands begin with a word of NOT_RUN below or have
  `--cluster`, `make` must name a target of the Makefile, and options of `snakemake` must exist. Python that is not run
  is counted: NOT_RUN_PYTHON.

Commands run as if on one core. `python tests/doc_blocks.py --write README.md docs/x.md` puts what commands print now
into the page where it differs from what the page says; look at the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUN = ("console", "bash", "python", "pycon")
# what a block that is not run may begin its lines with: it needs the network, root, a cluster, a browser or an hour
NOT_RUN = (
    "make",
    "snakemake",
    "kubectl",
    "dask",
    "git",
    "cd",
    "apt",
    "sudo",
    "pip",
    "conda",
    "python3",
    ".",
    "mlflow",
    "export",
    "pre-commit",
)
NOT_RUN_PYTHON = 2  # blocks, in all pages together
HIDDEN_COMMAND = re.compile(
    r"^\s*(\$ |(make|snakemake|bayestopics|pip|python3?) [a-z-]|>>> |import \w+$|from [\w.]+ import )"
)
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
SHELL = re.compile(r"[|<>;&*$`~()]")


@dataclass
class Block:
    page: Path
    line: int  # of its first line of content, from 1
    language: str  # or setup, setup-python
    text: str
    not_run: str | None = None
    exits: int = 0
    options: dict[str, list[str]] = field(default_factory=dict)  # command -> what is added to it

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


class Wrong(AssertionError):
    """What a page says is not so."""


# -- reading a page ----------------------------------------------------------------------------------


def pages() -> list[Path]:
    of_docs = [
        path for path in (ROOT / "docs").rglob("*.md") if not path.relative_to(ROOT / "docs").parts[0].startswith("_")
    ]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(of_docs)]


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """All fences and setups of a page, in order."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    found: list[Block] = []
    marks: dict[str, Any] = {}
    options: dict[str, list[str]] = {}
    directives: list[str] = []  # the fences of those that are open: what is in them is text of the page
    i = 0
    while i < len(lines):
        line = lines[i]
        if directives and line.strip() == directives[-1]:
            directives.pop()
            i += 1
        elif fence := re.match(r"(\s*)(`{3,}|~{3,})\s*(\{?[\w+-]*\}?)", line):
            end = i + 1
            while end < len(lines) and not re.match(rf"\s*{fence[2]}\s*$", lines[end]):
                end += 1
            if fence[3].startswith("{"):
                directives.append(fence[2])
                marks, i = {}, i + 1
                continue
            body = "\n".join(row.removeprefix(fence[1]) for row in lines[i + 1 : end])
            found.append(Block(page, i + 2, fence[3], body, options=dict(options), **marks))
            marks, i = {}, end + 1
        elif line.lstrip().startswith("<!--"):
            end = i
            while "-->" not in lines[end]:
                end += 1
            comment = COMMENT.search("\n".join(lines[i : end + 1]))
            assert comment, f"{page.name}:{i + 1}: a comment without an end"
            _comment(comment[1].strip(), Block(page, i + 2, "", "", options=dict(options)), found, marks, options)
            i = end + 1
        else:
            if line.strip():
                marks = {}
            i += 1
    return found


def _comment(text: str, at: Block, found: list[Block], marks: dict[str, Any], options: dict[str, list[str]]) -> None:
    head, _, rest = text.partition("\n")
    if head in ("setup", "setup-python"):
        at.language, at.text = head, rest
        found.append(at)
    elif reason := re.fullmatch(r"not run: (.+)", text, re.DOTALL):
        marks["not_run"] = reason[1]
    elif code := re.fullmatch(r"exits (\d+)", text):
        marks["exits"] = int(code[1])
    elif added := re.fullmatch(r"with (\w+): (.+)", text, re.DOTALL):
        options[added[1]] = shlex.split(added[2])


@dataclass
class Command:
    text: str
    output: list[str]
    line: int  # of its first line of output, from 0, within the block


def commands(block: Block) -> list[Command]:
    """The commands of a console or bash block, with the output that the page shows."""
    found: list[Command] = []
    if block.language != "console":
        text = block.text.replace("\\\n", " ")
        return [Command(row, [], 0) for row in text.splitlines() if row.strip() and not row.lstrip().startswith("#")]
    for i, row in enumerate(block.text.splitlines()):
        if row.startswith("$ "):
            found.append(Command(row[2:], [], i + 1))
        elif row.startswith("> ") and found and not found[-1].output:
            found[-1].text = found[-1].text.removesuffix("\\") + " " + row[2:]
            found[-1].line = i + 1
        elif found:
            found[-1].output.append(row)
        else:
            raise Wrong(f"{block.place}: a console block begins with `$ ` and a command, not {row!r}")
    return found


# -- what must not be in a page -----------------------------------------------------------------------


def check_not_run(block: Block) -> None:
    """A block that is not run is one of the few kinds that cannot be."""
    if block.language in ("python", "pycon"):
        return  # counted by the test
    for command in commands(block):
        words = shlex.split(command.text, comments=True)
        while words and re.fullmatch(r"\w+=\S*", words[0]):  # MLFLOW_TRACKING_URI=... make ui
            del words[0]
        if words and words[0].rpartition("/")[2] not in NOT_RUN and "--cluster" not in words:
            raise Wrong(f"{block.place}: `{command.text}` can be run: leave out `not run`")
        if words and words[0] == "make":
            targets = set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split())  # type: ignore[index]
            asked = {word for word in words[1:] if "=" not in word and not word.startswith("-")}
            if not asked <= targets:
                raise Wrong(f"{block.place}: the Makefile has no target {', '.join(sorted(asked - targets))}")
        if words and words[0] == "snakemake":
            _check_snakemake(words[1:], block)


def _check_snakemake(words: list[str], block: Block) -> None:
    from snakemake.cli import get_argument_parser

    known = get_argument_parser()._option_string_actions
    unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in known]
    if unknown:
        raise Wrong(f"{block.place}: snakemake has no option {', '.join(unknown)}")


def check_language(block: Block) -> None:
    if not block.language:
        raise Wrong(f"{block.place}: name the language of the block (console, bash, python, text, ...)")
    if block.language in (*RUN, "setup", "setup-python"):
        return
    if block.not_run is not None:
        raise Wrong(f"{block.place}: a block of {block.language} is never run: leave out `not run`")
    for row in block.text.splitlines():
        if HIDDEN_COMMAND.match(row):
            raise Wrong(
                f"{block.place}: {row.strip()!r} in a block of {block.language}: make it console, bash or python"
            )


# -- running -------------------------------------------------------------------------------------------


@dataclass
class Page:
    """One page being run: its namespace, and the commands whose output was not as the page says."""

    path: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    differences: list[tuple[Block, Command, list[str]]] = field(default_factory=list)

    def run(self, block: Block) -> None:
        check_language(block)
        if block.not_run is not None:
            check_not_run(block)
        elif block.language in ("console", "bash", "setup"):
            self._commands(block)
        elif block.language in ("python", "pycon", "setup-python"):
            self._python(block)

    def _commands(self, block: Block) -> None:
        every = commands(block)
        for command in every:
            code, printed = execute(command.text, block)
            if code != (block.exits if command is every[-1] else 0):
                raise Wrong(f"{block.place}: `{command.text}` ended with exit code {code}:\n{printed}")
            if not command.output:
                continue
            if any(command.text.split()[:2] == ["bayestopics", name] for name in block.options):
                raise Wrong(f"{block.place}: output is shown of a command that `with` changes: `{command.text}`")
            if not same(command.output, printed.splitlines()):
                self.differences.append((block, command, printed.splitlines()))

    def _python(self, block: Block) -> None:
        if re.search(r"^\s*>>> ", block.text, re.MULTILINE):
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            test = doctest.DocTestParser().get_doctest(
                block.text + "\n", self.namespace, block.place, block.page.name, 0
            )
            test.globs = self.namespace  # get_doctest made a copy
            said: list[str] = []
            runner = doctest.DocTestRunner(optionflags=flags)
            if runner.run(test, out=said.append, clear_globs=False).failed:
                raise Wrong(f"{block.place}: " + "".join(said))
            return
        try:
            padded = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(padded, str(block.page), "exec"), self.namespace)
        except Exception as error:
            raise Wrong(f"{block.place}: {type(error).__name__}: {error}") from error


def execute(text: str, block: Block) -> tuple[int, str]:
    """Exit code, and all that is printed. A plain `bayestopics ...` needs no new process: that saves its start."""
    plain = re.sub(r"\s#.*$", "", text)
    words = shlex.split(plain)
    if words[:1] == ["bayestopics"] and not SHELL.search(plain):
        from bayestopics.cli.main import main

        printed = io.StringIO()
        added = block.options.get(words[1], []) if len(words) > 1 else []
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                code = main([*words[1:], *added])
            except SystemExit as end:  # --help, --version
                code = int(end.code or 0)
        return code, printed.getvalue()
    done = subprocess.run(
        ["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout


def same(shown: list[str], printed: list[str]) -> bool:
    """`...` stands for anything, a line of it for any lines; blanks and the last digits of numbers do not count."""
    shown, printed = ([row.split() for row in _trimmed(rows)] for rows in (shown, printed))
    return _same_rows(shown, printed)


def _trimmed(rows: list[str]) -> list[str]:
    rows = [row.rstrip() for row in rows]
    while rows and not rows[-1]:
        rows = rows[:-1]
    return rows


def _same_rows(shown: list[list[str]], printed: list[list[str]]) -> bool:
    if not shown:
        return not printed
    if shown[0] == ["..."]:
        return any(_same_rows(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and _same_line(" ".join(shown[0]), " ".join(printed[0])) and _same_rows(shown[1:], printed[1:])


def _same_line(shown: str, printed: str) -> bool:
    pattern, numbers = "", []
    for part in re.split(rf"(\.\.\.|{NUMBER.pattern})", shown):
        if part == "...":
            pattern += ".*?"
        elif NUMBER.fullmatch(part):
            pattern += f"({NUMBER.pattern})"
            numbers.append(part)
        else:
            pattern += re.escape(part)
    found = re.fullmatch(pattern, printed)
    return found is not None and all(_close(*pair) for pair in zip(numbers, found.groups(), strict=True))


def _close(first: str, second: str) -> bool:
    if first == second:
        return True
    a, b = (float(number.replace(",", "")) for number in (first, second))
    return "." in first + second and abs(a - b) <= 1e-6 * max(abs(a), abs(b))


# -- one page ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """In this folder, with a tracking store of its own, on one core, without lines of progress."""
    from bayestopics.base import progress
    from bayestopics.cli import arguments

    before, place, cores, seconds = dict(os.environ), Path.cwd(), arguments.cores, progress.EVERY_SECONDS
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    os.environ |= {"PATH": os.pathsep.join(paths), "MPLBACKEND": "Agg", "MLFLOW_DISABLE_TELEMETRY": "true"}
    arguments.cores, progress.EVERY_SECONDS = lambda: 1, math.inf
    try:
        os.chdir(folder)
        yield
    finally:
        os.chdir(place)
        arguments.cores, progress.EVERY_SECONDS = cores, seconds
        os.environ.clear()
        os.environ |= before


def run_page(path: Path, folder: Path) -> Page:
    page = Page(path)
    with alone(folder):
        for block in blocks(path):
            page.run(block)
    return page


def write(path: Path, differences: list[tuple[Block, Command, list[str]]]) -> None:
    """What commands print now, in place of what the page says; masks of a line stay where they still fit."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for block, command, printed in reversed(differences):
        begin = block.line - 1 + command.line
        masks = [row for row in command.output if "..." in row and row.strip() != "..."]  # alone it fits every line
        kept = [
            next((m for m in masks if _same_line(*(" ".join(x.split()) for x in (m, row)))), row) for row in printed
        ]
        lines[begin : begin + len(command.output)] = _trimmed(kept)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    import tempfile

    writing, paths = "--write" in arguments, [Path(word) for word in arguments if not word.startswith("--")]
    for path in paths or pages():
        with tempfile.TemporaryDirectory() as folder:
            page = run_page(path.resolve(), Path(folder))
        for block, command, printed in page.differences:
            print(f"{block.place}: $ {command.text}", *printed, sep="\n")
        if writing:
            write(path, page.differences)
        print(f"{path}: {len(page.differences)} outputs differ" + (", written" * writing))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
