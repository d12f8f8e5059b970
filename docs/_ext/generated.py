"""What the pages include and nobody types: the options of the commands, claims, figures, speed, graphs,
the tutorial.

Before a build each part is written to docs/_generated; a file that would not change is left alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import commands
import graphs
import notebooks
import results
import speed
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parents[1]
FOLDER = DOCS / "_generated"
ROOT = DOCS.parent


def write_all(app: Sphinx) -> None:
    parts: dict[str, str | bytes] = {}
    for part in (commands, results, speed, graphs, notebooks):
        parts |= part.parts(ROOT)
    _write(parts)


def _write(parts: Mapping[str, str | bytes]) -> None:
    for name, content in parts.items():
        path, content = FOLDER / name, content.encode() if isinstance(content, str) else content
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and path.relative_to(FOLDER).as_posix() not in parts:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    if shutil.which("snakemake") is None:
        raise ExtensionError("snakemake is not on the PATH: build with `make docs`")
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True}
