"""Words and numbers in messages for people that several packages share."""

from __future__ import annotations

import re
from collections.abc import Iterable

NAT = "a difference of 1 nat is a factor of 2.7 in probability"


def nats(value: float) -> str:
    """A number of nats that is known only roughly, with two digits and no exponent: 956.3 becomes "960 nats"."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,g} nat{'' if rounded == 1 else 's'}"


def explain_once(warnings: Iterable[str]) -> list[str]:
    """The same warnings; what a nat is stays only in the first that explains it."""
    explained, result = False, []
    for warning in warnings:
        result.append(warning.replace(f" ({NAT})", "") if explained else warning)
        explained = explained or NAT in warning
    return result


LONGEST_QUOTE = 60


def quoted(text: str) -> str:
    """A part of a file in a message: in quotes, with control characters made visible, and cut if it is long."""
    return repr(text) if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]!r}..."


# control characters, line and paragraph separators, marks that turn the direction of writing, halves of surrogate pairs
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Text from a file that a terminal, a page or a figure can show: what would do something else than be seen is
    written as in Python, such as \\x1b or \\n."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_figure(text: str) -> str:
    """The same for a figure, where matplotlib takes what stands between two dollar signs for a formula."""
    return visible(text).replace("$", r"\$")


def in_cell(text: str) -> str:
    """The same for a cell of a CSV file: an apostrophe in front keeps a spreadsheet from computing it as a formula."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
