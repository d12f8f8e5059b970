"""The result of `score`: how well a model predicts held-out words or documents, for one number of topics or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bayestopics.base.wording import NAT, show_warnings
from bayestopics.runs.kinds import CommandResult, show_values, with_error
from bayestopics.runs.result import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ScoreResult(CommandResult):
    """How well a model predicts held-out words or documents. With several numbers of topics, the table ``scores`` has
    one row for each of them, and the other tables a column ``topics``."""

    @property
    def documents(self) -> pd.DataFrame:
        """One row per document that was left out."""
        return self.tables["documents"]

    def summary(self) -> Summary:
        rows = {}
        if "documents" in self.tables:
            table = self.documents.astype(object)
            rows = {"documents": table.where(table.notna(), None).to_dict("records")}
        return {**self.answer, **rows, "warnings": self.warnings}

    @property
    def _unit(self) -> str:
        return "held-out word" if self.task.params["method"] == "completion" else "document"

    def text(self) -> str:
        """The summary for people, without the table of the documents, which may be long."""
        if "scores" in self.tables:
            return "\n".join([*self._lines_by_topics(), *show_warnings(self.warnings)])
        label = {"log_score": f"mean log probability of a {self._unit} (nats)"}
        return show_values({**self.answer, "warnings": self.warnings}, label)

    def _lines_by_topics(self) -> list[str]:
        lines = ["topics      log score   standard error   below the best   its error from the documents"]
        for row in self.tables["scores"].astype(object).where(self.tables["scores"].notna(), None).itertuples():
            error = "unknown" if row.standard_error is None else with_error(row.standard_error, row.standard_error, "")
            value = with_error(row.log_score, row.standard_error, ",.4f")
            below = [""] * 2 if row.topics == self.answer["best"] else _pair(-row.difference, row.difference_error)
            lines.append(f"{row.topics:6}  {value:>13}   {error:>14}   {below[0]:>14}   {below[1]:>14}".rstrip())
        others = [str(topics) for topics in self.answer["not_excluded"] if topics != self.answer["best"]]
        told = f"the held-out documents do not rule out {', '.join(others)}" if others else "by a clear margin"
        lines += ["", f"The score is best at {self.answer['best']} topics; {told}."]
        lines.append(f"The log score is the mean log probability of a {self._unit}, in nats ({NAT}).")
        return [*lines, ""] if self.warnings else lines

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_completion, draw_documents, draw_evidence

        if "scores" in self.tables:
            table = self.tables["scores"].rename(columns={"log_score": "log_evidence"})
            title = f"{self._shown_name}: score by {self.task.params['method']}, with 2 standard errors"
            return draw_evidence(table, self.answer["best"], title, f"mean log probability\nof a {self._unit} (nats)")
        title = f"{self._shown_name}, T = {self.task.params['topics']}"
        if "documents" in self.tables:
            return draw_documents(self.documents, f"{title}: leave one out")
        return draw_completion(self.tables["heldout"], self.tables["batches"], self.answer, title)


def _pair(value: float, error: float | None) -> list[str]:
    return [with_error(value, error, ",.4f"), "unknown" if error is None else with_error(error, error, "")]
