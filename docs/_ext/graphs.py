"""The rule graph and the import graph, as they are, drawn by matplotlib in layers: no other program is needed."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

import grimp
import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from bayestopics.base.plotting import COLOURS
from bayestopics.corpus.registry import Registry

Edges = set[tuple[str, str]]  # from above to below
WIDTH, HEIGHT, GAP, ROWS = 1.35, 0.36, 0.35, 0.95  # inches: a box, between boxes, from row to row
PASSING = 0.12  # inches that an edge takes where it passes a row


def parts(root: Path) -> dict[str, bytes]:
    """rules.svg and imports.svg"""
    rules, imports = rule_graph(root), import_graph()
    layers = contract(root)
    return {"rules.svg": drawn(rules, depths(rules)), "imports.svg": drawn(without_detours(imports), layers)}


# -- what there is -----------------------------------------------------------------------------------


def rule_graph(root: Path) -> Edges:
    """What `snakemake --rulegraph` says at scale quick, as if every corpus were within reach."""
    places = dict.fromkeys(Registry(root / "config/corpora.yaml").entries, "within reach")
    command = ["snakemake", "--rulegraph", "--cores", "1", "--config", "scale=quick"]
    environment = {**os.environ, "BAYESTOPICS_PLACES": json.dumps(places)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
    names = dict(re.findall(r'(\d+)\[label = "([^"]+)"', done.stdout))
    pairs = re.findall(r"(\d+) -> (\d+)", done.stdout)
    return without_detours({(names[a], names[b]) for a, b in pairs if a != b})


def import_graph() -> Edges:
    """Which package of bayestopics imports from which; `api` and the like are modules."""
    graph = grimp.build_graph("bayestopics", exclude_type_checking_imports=True)
    found: Edges = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = tuple(name.split(".")[1] if "." in name else "" for name in (module, other))
            if all(pair) and pair[0] != pair[1]:
                found.add((pair[0], pair[1]))
    return found


def contract(root: Path) -> dict[str, int]:
    """The layers of the import linter: package -> row, from the top."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [one["layers"] for one in settings["contracts"] if one["type"] == "layers"]
    return {name.strip(" ()"): row for row, layer in enumerate(layers) for name in layer.split("|")}


def without_detours(edges: Edges) -> Edges:
    """Without the edges that a longer way stands for."""
    below: dict[str, set[str]] = {}
    for a, b in edges:
        below.setdefault(a, set()).add(b)

    def reached(start: str, skip: tuple[str, str]) -> set[str]:
        seen, ahead = set(), [start]
        while ahead:
            here = ahead.pop()
            for other in below.get(here, ()):
                if (here, other) != skip and other not in seen:
                    seen.add(other)
                    ahead.append(other)
        return seen

    return {(a, b) for a, b in edges if b not in reached(a, (a, b))}


def depths(edges: Edges) -> dict[str, int]:
    """The longest way from above."""
    found = {name: 0 for edge in edges for name in edge}
    for _ in found:
        for a, b in edges:
            found[b] = max(found[b], found[a] + 1)
    for name in found.keys() - {b for _, b in edges}:  # what needs nothing stands just above what needs it
        found[name] = min(found[b] for a, b in edges if a == name) - 1
    return found


# -- drawing -----------------------------------------------------------------------------------------


def drawn(edges: Edges, row_of: dict[str, int]) -> bytes:
    """An SVG: boxes in rows, edges as curves from above to below that go around boxes."""
    points = placed(edges, row_of)
    names = [name for name in points if isinstance(name, str)]
    width = max(abs(points[name][0]) for name in names) * 2 + WIDTH + 0.4
    height = (max(row_of.values()) + 1) * ROWS
    with matplotlib.rc_context({"svg.hashsalt": "graph", "svg.fonttype": "path", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-width / 2, width / 2), ylim=(height - ROWS / 2, -ROWS / 2))
        axes.axis("off")
        for a, b in sorted(edges):
            _edge(axes, [points[one] for one in _way(a, b, row_of)])
        for name in names:
            x, y = points[name]
            box = FancyBboxPatch(
                (x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT, boxstyle="round,pad=0,rounding_size=0.08"
            )
            box.set(facecolor="white", edgecolor=COLOURS[0], linewidth=1.4, zorder=3)
            axes.add_patch(box)
            axes.text(x, y, name.replace("_", " "), ha="center", va="center", fontsize=9.5, zorder=4)
        with io.BytesIO() as buffer:
            figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
            return buffer.getvalue()


def _way(a: str, b: str, row_of: dict[str, int]) -> list[object]:
    """The two ends, and a point in every row between."""
    return [a, *((a, b, row) for row in range(row_of[a] + 1, row_of[b])), b]


def placed(edges: Edges, row_of: dict[str, int]) -> dict[object, tuple[float, float]]:
    """Where each box, and each point where an edge passes a row, is. Rows are sorted by their neighbours' places."""
    rows: list[list[object]] = [[] for _ in range(max(row_of.values()) + 1)]
    for name, row in sorted(row_of.items()):
        rows[row].append(name)
    near: dict[object, list[object]] = {name: [] for name in row_of}
    for a, b in sorted(edges):
        way = _way(a, b, row_of)
        for point in way[1:-1]:
            rows[point[2]].append(point)  # type: ignore[index]
        for one, other in itertools.pairwise(way):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
    x: dict[object, float] = {}
    for row in rows:
        _spread(row, x)
    for _ in range(60):
        for row in rows:
            wanted = {one: sum(x[n] for n in near[one]) / len(near[one]) if near[one] else x[one] for one in row}
            row.sort(key=lambda one: wanted[one])
            _spread(row, x, wanted)
    middle = (min(x[n] for n in row_of) + max(x[n] for n in row_of)) / 2
    return {one: (x[one] - middle, number * ROWS) for number, row in enumerate(rows) for one in row}


def _room(one: object) -> float:
    return WIDTH + GAP if isinstance(one, str) else PASSING * 2


def _spread(row: list[object], x: dict[object, float], wanted: dict[object, float] | None = None) -> None:
    """In this order, as near as can be to where they want to be, and not upon each other."""
    if not wanted:
        place = -sum(map(_room, row)) / 2
        for one in row:
            x[one] = place + _room(one) / 2
            place += _room(one)
        return
    groups: list[tuple[list[object], float, float]] = []  # members, start, width: neighbours that touch move together
    for one in row:
        members, width = [one], _room(one)
        start = wanted[one] - width / 2
        while groups and groups[-1][1] + groups[-1][2] > start:
            before, _, their_width = groups.pop()
            members, width = before + members, their_width + width
            start = _start(members, wanted)
        groups.append((members, start, width))
    for members, start, _ in groups:
        for one in members:
            x[one] = start + _room(one) / 2
            start += _room(one)


def _start(members: Iterable[object], wanted: dict[object, float]) -> float:
    offset, starts = 0.0, []
    for one in members:
        starts.append(wanted[one] - _room(one) / 2 - offset)
        offset += _room(one)
    return sum(starts) / len(starts)


def _edge(axes: object, points: list[tuple[float, float]]) -> None:
    (x, y), *between, (last_x, last_y) = points
    points = [(x, y + HEIGHT / 2), *between, (last_x, last_y - HEIGHT / 2 - 0.03)]
    vertices, codes = [points[0]], [Curve.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Curve.CURVE4] * 3
    arrow = FancyArrowPatch(path=Curve(vertices, codes), arrowstyle="-|>", mutation_scale=9, color="#777777", lw=1.0)
    axes.add_patch(arrow)  # type: ignore[attr-defined]
