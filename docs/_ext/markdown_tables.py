"""Tables in MyST."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], css: str = "") -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in ([*header], ["---"] * len(header), *rows)]
    return (f"{{.{css}}}\n" if css else "") + "\n".join(lines)


def cell(text: str) -> str:
    """Plain text in a cell: nothing in it is markup, but for code in backticks."""
    text = " ".join(str(text).split())
    parts = text.split("`")
    for i in range(0, len(parts), 2) if len(parts) % 2 else range(len(parts)):
        for mark in "\\*_[]<>{}$|":
            parts[i] = parts[i].replace(mark, f"\\{mark}")
    return "`".join(parts) if len(parts) % 2 else "\\`".join(parts)
