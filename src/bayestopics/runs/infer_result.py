"""The result of `infer`: the topics of new documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayestopics.base.wording import visible
from bayestopics.runs.kinds import CommandResult, show_values, show_words
from bayestopics.runs.result import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 10  # documents that are shown
LEADING = 3  # topics of each


class InferResult(CommandResult):
    """The shares of the topics in new documents, with their standard deviations."""

    def document_topics(self, deviations: bool = False) -> pd.DataFrame:
        """The posterior means of theta: one row per document, as in `FitResult.document_topics`, and ``unknown``, the
        number of tokens whose terms the fit does not know."""
        table = self.tables["documents"]
        if deviations:
            return table
        return table.drop(columns=[f"topic_{t}_sd" for t in range(self.task.params["topics"])])

    @property
    def theta(self) -> np.ndarray:
        """The posterior means of theta as a matrix of documents x topics."""
        return self.tables["documents"][[f"topic_{t}" for t in range(self.task.params["topics"])]].to_numpy()

    def write_csv(self, folder: Path | str) -> None:
        """Write ``documents.csv`` (`document_topics`, with standard deviations)."""
        from bayestopics.runs.export import write_csv

        write_csv(self.document_topics(deviations=True), Path(folder) / "documents.csv")

    def text(self) -> str:
        rest: Summary = {name: value for name, value in self.summary().items() if name != "topics"}
        rest["unknown_share"] = f"{rest['unknown_share']:.1%}"
        labels = {"unknown_share": "share of the tokens that the fit does not know"}
        labels["without_known_words"] = "documents without a word that it knows"
        lines = [*show_words(self.answer["topics"]), "", *self._document_lines(), ""]
        return "\n".join([*lines, show_values(rest, labels)])

    def _document_lines(self) -> list[str]:
        """The largest topics of the first documents."""
        theta, table = self.theta, self.tables["documents"]
        lines = [f"largest topics of the first {min(FIRST, len(theta))} documents, with their standard deviations:"]
        for number in range(min(FIRST, len(theta))):
            name = visible(str(table["id"][number])) if "id" in table else f"{number:3}"
            if table["tokens"][number] == table["unknown"][number]:
                lines.append(f"document {name}  has no word that the fit knows")
                continue
            best = np.argsort(-theta[number], kind="stable")[:LEADING]
            told = [f"topic {t} {theta[number, t]:.0%} +- {table[f'topic_{t}_sd'][number]:.0%}" for t in best]
            lines.append(f"document {name}  {', '.join(told)}")
        return lines

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_shares

        return draw_shares(self.theta, f"{self._shown_name}: shares of the topics in {len(self.theta)} new documents")
