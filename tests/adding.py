"""A copy of the package to which a file and a line are added, and programs that run on the copy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Copy:
    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def add_file(self, name: str, text: str) -> None:
        path = self.source / "bayestopics" / name
        assert not path.exists()
        path.write_text(text)

    def add_line(self, name: str, after: str, line: str) -> None:
        """After the one line that has `after` in it, as far to the right."""
        path = self.source / "bayestopics" / name
        lines = path.read_text().splitlines()
        (place,) = [number for number, text in enumerate(lines) if after in text]
        lines.insert(place + 1, lines[place][: -len(lines[place].lstrip())] + line)
        path.write_text("\n".join(lines) + "\n")

    def python(self, *arguments: object) -> str:
        """What a program says that runs on the copy, from anywhere."""
        environment = os.environ | {"PYTHONPATH": str(self.source)}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def command(self, *arguments: object) -> Any:
        return json.loads(self.python("-m", "bayestopics.cli.main", *arguments, "--json"))

    def tests(self, path: str, word: str) -> str:
        """The last line of what pytest says about the tests that have this word in their names."""
        return self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / path, "-k", word).splitlines()[-1]
