"""The result of `select`: the number of topics, alpha and eta, and the topics with how far each can be trusted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayestopics.lda.state import Prior
from bayestopics.runs.kinds import (
    DIAGNOSTICS,
    JUMP,
    POSTERIOR,
    TopicPosteriorResult,
    chain_line,
    hyper_line,
    share_lines,
    show_values,
)
from bayestopics.runs.result import Summary
from bayestopics.runs.topics_result import TopicsResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SelectResult(TopicsResult, TopicPosteriorResult):
    """The number of topics, alpha and eta together, with their uncertainty."""

    @property
    def headline(self) -> str:
        """The answer in one sentence. If the chains disagree, it is the range of T that they cover."""
        answer = self.answer
        if answer["agree"]:
            low, high = answer["between"]
            known = f"with a probability {between(low, high)}" if low > 0 or high < 1 else "with unknown probability"
            return f"T = {answer['topics']} topics, {known}"
        ends = "{} to {}".format(*answer["range"])
        if len(answer["chains"]) == 1:
            return f"T from {ends}, by a single chain, which cannot show whether its start matters"
        return f"The chains disagree, so the number of topics is not known yet: they cover T from {ends}"

    @property
    def interval(self) -> dict[int, tuple[float, float]]:
        """Where the probability of each T is: two standard errors on either side, and wider where the chains are too
        short to tell."""
        low, high = self._column("low"), self._column("high")
        return {topics: (low[topics], high[topics]) for topics in low}

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_posterior

        title = f"{self._shown_name}: posterior of the number of topics, and where each probability is"
        return draw_posterior(self.posterior, title, intervals=self.interval)

    def summary(self) -> Summary:
        answer = dict(self.answer)
        names = ("topics", "agree", "probability", "between", "range")
        first = {name: answer.pop(name) for name in names}
        law = {"posterior": self.posterior, "interval": self.interval, "standard_error": self.standard_error}
        return {**first, **law, **answer, "warnings": self.warnings}

    def text(self) -> str:
        answer, ends = self.answer, self.interval
        lines = [f"{self.headline}.", "", *self._topic_lines()]
        if answer["agree"] or len(answer["chains"]) == 1:  # otherwise each chain is sure of its own T
            lines += ["", POSTERIOR, *share_lines(self.posterior, lambda topics: f", {between(*ends[topics])}")]
        lines += ["", *(chain_line(one) for one in answer["chains"]), ""]
        if answer["agree"] or len(answer["chains"]) == 1:
            lines.append(f"given T = {answer['topics']}:")
            lines += [hyper_line(name, law) for name, law in answer["hyper"].items() if law is not None]
        else:
            lines.append("alpha and eta depend on T, so they are not known either")
        first = "first answer, before the chains: {topics} topics, alpha {alpha:.3g}, eta {eta:.3g}"
        lines += ["", first.format(**answer["first_answer"]), ""]
        rest = {name: answer[name] for name in (*DIAGNOSTICS, "topics_of") if answer[name] is not None}
        return "\n".join([*lines, show_values({**rest, "warnings": self.warnings}, JUMP)])

    def plot_chains(self) -> Figure:
        """The number of topics along the chains."""
        from bayestopics.runs.plots import draw_weighted_chains

        title = f"{self._shown_name}: the number of topics along the chains"
        return draw_weighted_chains(self.trace, self.task.params["burn_in"], title)

    def plot_hyper(self) -> Figure:
        """The draws of alpha and eta at the chosen number of topics, with their region."""
        from bayestopics.runs.plots import draw_hyper

        return draw_hyper(self._kept, self.answer, f"{self._shown_name}: draws of alpha and eta")

    def write_csv(self, folder: Path | str) -> None:
        """Write ``posterior.csv``, the probability of every T, with its error, and the tables of the topics:
        ``documents.csv`` (`document_topics`, with standard deviations) and ``topics.csv`` (`topic_terms`)."""
        from bayestopics.runs.export import write_csv

        write_csv(self.tables["posterior"], Path(folder) / "posterior.csv")
        super().write_csv(folder)

    # -- of its topics --------------------------------------------------------------------------------------

    @property
    def listed(self) -> list[dict[str, Any]]:
        topics: list[dict[str, Any]] = self.answer["top_words"]
        return topics

    @property
    def topic_count(self) -> int:
        return int(self.answer["topics"])

    @property
    def prior(self) -> Prior:
        """alpha and eta as they were chosen. With one topic there is no alpha, and any number does."""
        return Prior(self.answer["alpha"] or 1.0, self.answer["eta"])


def between(low: float, high: float) -> str:
    """A range of probabilities; its ends are rounded away from each other."""
    digits = 0 if high - low > 0.02 else 1
    scale = 100 * 10**digits
    ends = [f"{value / 10**digits:.{digits}f}" for value in (math.floor(low * scale), math.ceil(high * scale))]
    return f"between {ends[0]} % and {ends[1]} %"
