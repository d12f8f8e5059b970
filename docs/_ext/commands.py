"""The options of every command, from the argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown_tables import cell, table

from bayestopics.cli.main import build_parser

Named = Iterator[tuple[str, argparse.ArgumentParser]]
SHARED = ("reading", "texts", "record")  # the first words of groups that many commands have
UNNAMED = ("positional arguments", "options")


def parts(root: Path) -> dict[str, str]:
    """commands/<command>.md: its usage and options."""
    return {f"commands/{name.replace(' ', '-')}.md": _page(parser) for name, parser in leaves(build_parser())}


def leaves(parser: argparse.ArgumentParser, name: str = "") -> Named:
    """The commands that do something, by name."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for word, each in action.choices.items():
            yield from leaves(each, f"{name} {word}".strip())


def _page(parser: argparse.ArgumentParser) -> str:
    """Its own options in sight, those that it shares with others behind a click."""
    own: dict[str, list[list[str]]] = {"": []}
    shared: dict[str, list[list[str]]] = {}
    for group in parser._action_groups:
        title = str(group.title)
        where = shared if title.split()[0] in SHARED else own
        rows = [row for action in group._group_actions if (row := _row(action))]
        where.setdefault("" if title in UNNAMED else title, []).extend(rows)
    lines = _tables(own)
    if shared:
        inside = "\n\n".join(_tables(shared))
        lines.append(f":::{{dropdown}} Options that it shares with other commands\n{inside}\n:::")
    return "\n\n".join(lines) + "\n"


def _tables(groups: Mapping[str, list[list[str]]]) -> list[str]:
    lines = []
    for title, rows in groups.items():
        lines += [f"*{title[0].upper()}{title[1:]}*"] if title else []
        lines += [table(["option", "meaning", "default"], rows, "options")] if rows else []
    return lines


def _row(action: argparse.Action) -> list[str] | None:
    if isinstance(action, argparse._HelpAction):
        return None
    name = action.option_strings[-1] if action.option_strings else ""
    words = name if action.nargs == 0 else f"{name} {_value(action)}".strip()
    choices = f" (one of {', '.join(f'`{choice}`' for choice in action.choices)})" if action.choices else ""
    return [f"`{words}`", cell((action.help or "").strip() + choices), _default(action)]


def _value(action: argparse.Action) -> str:
    return str(action.metavar or ("NAME" if action.choices else action.dest.upper()))


def _default(action: argparse.Action) -> str:
    if action.dest == "workers":
        return "one per core"  # not the number of cores of the machine that builds this page
    if action.required or action.nargs == 0 or action.default in (None, argparse.SUPPRESS):
        return "required" if action.required else ""
    return f"`{action.default}`"
