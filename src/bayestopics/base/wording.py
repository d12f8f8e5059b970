"""Words and numbers in messages for people that several packages share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

NAT = "a difference of 1 nat is a factor of 2.7 in probability"
HOPELESS = 100  # a larger R-hat says no more than this one


def nats(value: float) -> str:
    """A number of nats that is known only roughly, with two digits and no exponent: 956.3 becomes "960 nats"."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,g} nat{'' if rounded == 1 else 's'}"


def rhat_told(value: float, form: str = ".2f") -> str:
    """R-hat. Where no chain leaves its own values it is huge, or infinite, and its size says nothing more."""
    return format(value, form) if value <= HOPELESS else f"more than {HOPELESS}"


def explain_once(warnings: Iterable[str]) -> list[str]:
    """The same warnings; what a nat is stays only in the first that explains it."""
    explained, result = False, []
    for warning in warnings:
        result.append(warning.replace(f" ({NAT})", "") if explained else warning)
        explained = explained or NAT in warning
    return result


ON_TOP = 3  # warnings that are shown at once; the others are details


def on_top(warnings: Sequence[str]) -> tuple[list[str], list[str]]:
    """The warnings to show at once, and the rest, for the details. Methods put the gravest first."""
    return list(warnings[:ON_TOP]), list(warnings[ON_TOP:])


def show_warnings(warnings: Sequence[str]) -> list[str]:
    """Lines for a terminal: the gravest warnings, and below them the others as details."""
    first, rest = on_top(warnings)
    lines = [f"warning: {warning}" for warning in first]
    return [*lines, f"details ({len(rest)} more):", *(f"  - {one}" for one in rest)] if rest else lines


def at_the_end(topics: Sequence[int], best: int, what: str) -> list[str]:
    """A warning if the best of several numbers of topics is the largest one that was tried."""
    if len(set(topics)) < 2 or best != max(topics):
        return []
    return [
        f"The best {what} is at the end of the range that was tried, so more topics may be better still, and the best "
        f"number is not known yet. Try larger T, such as --topics {best}-{2 * best}; {best} was the largest."
    ]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known word that is most like it, if one is."""
    plain = {one.lstrip("-"): one for one in known}  # that two options begin with dashes does not make them alike
    near = difflib.get_close_matches(word.lstrip("-"), plain, n=1)
    return f"; did you mean {plain[near[0]]}?" if near else ""


def by_topics(warnings: Iterable[tuple[int, str]]) -> list[str]:
    """Warnings about several numbers of topics; what is said of many of them is said once."""
    together: dict[str, list[int]] = {}
    for topics, warning in warnings:
        together.setdefault(warning, []).append(topics)
    return [f"T = {', '.join(map(str, topics))}: {warning}" for warning, topics in together.items()]


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


def is_no_text(text: str) -> bool:
    """Whether it holds half of a pair of surrogates, which JSON can hold and no file of text can."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)
