"""The answer of a report in plain words: what was found, what to trust, and what to do next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

from bayestopics.base.wording import explain_once, visible
from bayestopics.corpus.corpus import Corpus
from bayestopics.pages.topics import Topics
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.result import Result
from bayestopics.runs.select_result import SelectResult

INDEPENDENT = "A chain is an independent run."
ON_TOP = 3  # warnings beside the answer; all of them are under the diagnostics


@dataclass(frozen=True)
class Answer:
    headline: str
    about: str  # the corpus, and the largest topic
    good: list[str] = field(default_factory=list)
    careful: list[str] = field(default_factory=list)
    steps: list[tuple[str, str]] = field(default_factory=list)  # what to do next, and the command that does it
    more: int = 0  # warnings that are not shown here


def of_fit(result: FitResult, topics: Topics, names: list[str], corpus: Corpus) -> Answer:
    params, stable = result.task.params, _stable(topics)
    number = params["topics"]
    headline = f"{number} {_plural('topic', number)}"
    if topics.trust:
        some = f"{stable} of which" if stable else "none of which"
        headline += ", all of them reproducible" if stable == number else f", {some} can be relied on"
    good = _found(topics, params["chains"])
    if result.answer["rhat"] is not None and not result.warnings:
        good.append(f"The chains agree about the corpus as a whole (R-hat {result.answer['rhat']:.3f}).")
    careful, more = _on_top(result.warnings)
    careful.append(f"The number of topics, {number}, was given and not found. So were alpha and eta.")
    name = command_name(result)
    longer = f"bayestopics fit {name} --topics {number} --sweeps {2 * params['sweeps']} --burn-in "
    steps = [("Run longer chains, until they agree.", f"{longer}{max(200, 2 * params['burn_in'])}")]
    steps = steps if stable < number or _too_short(result) else []
    steps.append(("Let the data choose the number of topics, alpha and eta.", f"bayestopics select {name}"))
    return Answer(headline, _about(corpus, topics, names), good, careful, steps, more)


def of_selection(result: SelectResult, topics: Topics, names: list[str], corpus: Corpus) -> Answer:
    answer, params = result.answer, result.task.params
    good, chains = [], len(answer["chains"])
    if answer["agree"] and chains > 1:
        starts = ", ".join(str(one["start"]) for one in answer["chains"])
        good.append(f"{chains} chains that started with {starts} topics agree about the number of topics.")
    good += _found(topics, chains)
    careful, more = _on_top(result.warnings)
    name, steps = command_name(result), []
    if not answer["agree"] or _too_short(result):
        longer = f"bayestopics select {name} --iterations {4 * params['iterations']}"
        steps.append(("Run longer chains, until they agree.", longer))
    steps.append(("Find these topics in new documents.", "bayestopics infer new.csv --fit FOLDER"))
    return Answer(result.headline, _about(corpus, topics, names), good, careful, steps, more)


def _too_short(result: Result) -> bool:
    """Whether a warning says that longer chains would help."""
    return any("--iterations" in one or "--sweeps" in one for one in result.warnings)


def _stable(topics: Topics) -> int:
    return sum(one["stable"] for one in topics.trust.values())


def _found(topics: Topics, chains: int) -> list[str]:
    """How many of the topics other chains have too."""
    stable = _stable(topics)
    if not stable:
        return []
    everywhere = sum(one["chains"] == chains for one in topics.trust.values())
    if everywhere == len(topics) > 1:
        return [f"All {everywhere} topics were found by all {chains} chains. {INDEPENDENT}"]
    more = f", and {stable - everywhere} more by most of them" if stable > everywhere else ""
    return [
        f"{everywhere} of the {len(topics)} topics {'was' if everywhere == 1 else 'were'} found by all {chains} "
        f"chains{more}. {INDEPENDENT}"
    ]


def _about(corpus: Corpus, topics: Topics, names: list[str]) -> str:
    first = topics.by_size[0]
    sizes = f"{corpus.document_count:,} documents with {corpus.token_count:,} words ({corpus.term_count:,} different)"
    return (
        f"In {sizes}. The largest topic is topic {first} ({names[first]}), with {topics.share[first]:.0%} of the words."
    )


def _on_top(warnings: list[str]) -> tuple[list[str], int]:
    """The first few; that documents are empty comes last."""
    order = sorted(warnings, key=lambda one: "empty documents" in one)
    shown = [visible(one) for one in explain_once(order)[:ON_TOP]]
    return shown, len(warnings) - len(shown)


def command_name(result: Any) -> str:
    """The corpus as it is written in a command, without its folder."""
    return visible(shlex.quote(result.name))


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
