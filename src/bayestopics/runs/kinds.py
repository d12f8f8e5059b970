"""The results of the commands: how each is summed up, shown and drawn.

All that they show is in the record, so that a result that was read shows the same as one that was just computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayestopics.base.problems import InputError
from bayestopics.runs.record import check_place, read, write
from bayestopics.runs.result import Result, Summary

if TYPE_CHECKING:
    import arviz
    import pandas as pd
    from matplotlib.figure import Figure


class CommandResult(Result):
    """What they share."""

    def __str__(self) -> str:
        return self.text()

    @property
    def name(self) -> str:
        """The corpus, without the folder that it was read from."""
        return Path(self.task.corpus).name

    def text(self) -> str:
        return show_values(self.summary())

    def save(self, folder: Path | str, overwrite: bool = False) -> None:
        """Write the record to a folder. A different record that is there stays, unless `overwrite` is true."""
        check_place(Path(folder), self.key, overwrite)
        write(self, Path(folder))

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read a record that `save` or `--out` wrote."""
        result = read(Path(folder))
        if not isinstance(result, cls):
            raise InputError(f"{folder}: is a record of {result.task.study}, not a {cls.__name__}")
        return result

    def _volatile(self, *names: str) -> Summary:
        return {name: self.volatile.get(name) for name in names}


class FitResult(CommandResult):
    """Chains of one sampler: their log joint, whether they agree, and the topics of chain 0."""

    @property
    def log_joint(self) -> np.ndarray:
        """Chains x kept sweeps."""
        kept = self.trace[self.trace["sweep"] >= self.task.params["burn_in"]]
        return np.array([chain["log_joint"] for _, chain in kept.groupby("chain", sort=True)])

    def summary(self) -> Summary:
        chains = self.log_joint.tolist()
        answer = dict(self.answer)
        return {
            "log_joint": chains[0] if len(chains) == 1 else chains,
            "log_joint_mean": answer.pop("log_joint_mean"),
            "log_joint_error": answer.pop("log_joint_error"),
            **self._volatile("seconds", "tokens_per_second"),
            **answer,
            "warnings": self.warnings,
        }

    def text(self) -> str:
        summary = self.summary()
        rest = {key: value for key, value in summary.items() if key not in ("log_joint", "topics")}
        return "\n".join([*show_words(summary["topics"]), "", show_values(rest)])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_chains

        title = f"{self.name}, T = {self.task.params['topics']}: log joint"
        return draw_chains(self.trace, "log_joint", self.task.params["burn_in"], title, "log p(w, z) (nats)")

    def to_arviz(self) -> arviz.InferenceData:
        """The traces, chains x draws, of what does not change when topics are relabelled."""
        from bayestopics.runs.export import to_arviz

        return to_arviz(self)


class EvidenceResult(CommandResult):
    """log m(T) of every T, with its error."""

    def summary(self) -> Summary:
        seconds = [rows["seconds"].tolist() for _, rows in self.tables["timing"].groupby("topics", sort=False)]
        by_topics = dict(zip(dict.fromkeys(self.tables["timing"]["topics"]), seconds, strict=True))
        return {
            **self.answer,
            "seconds": [by_topics[topics] for topics in self.answer["topics"]],
            "warnings": self.warnings,
        }

    def text(self) -> str:
        return show_evidence(self.summary())

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_evidence

        title = f"{self.name}: log evidence by {self.task.params['method']}, with 2 standard errors"
        return draw_evidence(self.tables["evidence"], self.answer["best"], title, "log p(w | T) (nats)")


class TopicPosteriorResult(CommandResult):
    """The posterior of the number of topics, and whether to believe it."""

    @property
    def posterior(self) -> dict[int, float]:
        table = self.tables["posterior"]
        return dict(zip(table["topics"].tolist(), table["probability"].tolist(), strict=True))

    def summary(self) -> Summary:
        return {"posterior": self.posterior, **self.answer, "warnings": self.warnings}

    def text(self) -> str:
        return show_posterior(self.summary())

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_posterior

        return draw_posterior(self.posterior, f"{self.name}: posterior of the number of topics")

    def to_arviz(self) -> arviz.InferenceData:
        """The number of topics of every kept step, chains x steps."""
        from bayestopics.runs.export import chains_to_arviz

        kept = self.trace[self.trace["step"] >= self.task.params["burn_in"]]
        return chains_to_arviz(self, kept, ["topics", "log_estimate"])


class HyperResult(CommandResult):
    """The best alpha and eta, with their Monte Carlo error and their own uncertainty."""

    def text(self) -> str:
        return "\n".join([*_hyper_lines(self.answer), *show_warnings(self.warnings)])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_draws, draw_path, draw_surface

        title = f"{self.name}, T = {self.task.params['topics']}"
        if "surface" in self.tables:
            return draw_surface(self.tables["surface"], self.answer, f"{title}: log M-hat(h), chain 0")
        if "path" in self.tables:
            return draw_path(self.tables["path"], f"{title}: {self.task.params['method']}")
        return draw_draws(self.trace, self.answer, f"{title}: alpha and eta sampled with the topics")

    def to_arviz(self) -> arviz.InferenceData:
        """alpha and eta along every chain of tempering or of full Bayes, chains x sweeps."""
        from bayestopics.runs.export import chains_to_arviz

        if "trace" not in self.tables:
            raise InputError(f"{self.task.params['method']} has no chains")
        return chains_to_arviz(self, self.trace, ["alpha", "eta"])


class SelectResult(CommandResult):
    """The number of topics, alpha and eta together, with their uncertainty."""

    @property
    def posterior(self) -> dict[int, float]:
        """Of T, uniform over those that were tried."""
        return _by_number(self.answer["posterior"])

    def summary(self) -> Summary:
        table = self.tables["evidence"].drop(columns="posterior").astype(object)
        rows = table.where(table.notna(), None).to_dict("records")
        return {**self.answer, "posterior": self.posterior, "table": rows, "warnings": self.warnings}

    def text(self) -> str:
        table = self.tables["evidence"]
        columns = {key: _or_none(table[key]) for key in ("topics", "log_evidence", "standard_error")}
        shares = [f"{topics:6} topics  {share:7.2%}" for topics, share in self.posterior.items()]
        words = [*show_words(self.answer["top_words"]), ""]
        best = [f"topics   {self.answer['topics']}", *_hyper_lines(self.answer), *show_warnings(self.warnings)]
        return "\n".join([*words, show_evidence({**columns, "warnings": []}), "", *shares, "", *best])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_evidence

        title = f"{self.name}: log evidence, with 2 standard errors"
        return draw_evidence(self.tables["evidence"], self.answer["topics"], title, "log p(w | T, alpha, eta) (nats)")

    def plot_surface(self) -> Figure:
        """The marginal likelihood of alpha and eta at the chosen number of topics."""
        from bayestopics.runs.plots import draw_surface

        title = f"{self.name}, T = {self.answer['topics']}: log M-hat(h), chain 0"
        return draw_surface(self.tables["surface"], self.answer, title)

    def to_arviz(self) -> arviz.InferenceData:
        """alpha and eta along every tempered chain at the chosen number of topics, chains x sweeps."""
        from bayestopics.runs.export import chains_to_arviz

        return chains_to_arviz(self, self.trace, ["alpha", "eta"])


class HdpResult(CommandResult):
    """The posterior of the number of topics of a model without a fixed one."""

    @property
    def posterior(self) -> dict[int, float]:
        return _by_number(self.answer["topics"])

    def summary(self) -> Summary:
        answer = dict(self.answer)
        words = answer.pop("top_words")
        chains = [{**one, "topics": _by_number(one["topics"])} for one in answer["chains"]]
        changed = {"topics": self.posterior, "chains": chains, **self._volatile("seconds"), "top_words": words}
        return {**answer, **changed, "warnings": self.warnings}

    def text(self) -> str:
        summary = self.summary()
        lines = [*show_words(summary["top_words"]), ""]
        for name, drawn in (summary["concentrations"] or {}).items():
            lines.append(f"{name} {drawn['mean']:.3g}, standard deviation {drawn['standard_deviation']:.2g}")
        if len(summary["chains"]) > 1:
            for number, chain in enumerate(summary["chains"]):
                mean = sum(topics * share for topics, share in chain["topics"].items())
                start = "" if chain["start"] is None else f" from {chain['start']:2} topics"
                lines.append(f"chain {number}{start}: {mean:.1f} topics")
            lines.append("")
        rest = {k: v for k, v in summary.items() if k not in ("top_words", "chains", "concentrations", "topics")}
        return "\n".join([*lines, show_posterior({**rest, "posterior": self.posterior})])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_posterior

        return draw_posterior(self.posterior, f"{self.name}: number of topics, {self.task.name.replace('/', ', ')}")

    def to_arviz(self) -> arviz.InferenceData:
        """The number of topics and the log joint of every kept sweep, chains x sweeps."""
        from bayestopics.runs.export import chains_to_arviz

        if "log_joint" not in self.trace:
            raise InputError(f"{self.task.params['method']} has no chains")
        kept = self.trace[self.trace["sweep"] >= self.task.params["burn_in"]]
        return chains_to_arviz(self, kept, ["topics", "log_joint"])


class ScoreResult(CommandResult):
    """How well a model predicts held-out words or documents."""

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

    def text(self) -> str:
        """Without the table of the documents, which may be long."""
        return show_values({**self.answer, "warnings": self.warnings})

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_completion, draw_documents

        title = f"{self.name}, T = {self.task.params['topics']}"
        if "documents" in self.tables:
            return draw_documents(self.documents, f"{title}: leave one out")
        return draw_completion(self.tables["heldout"], self.tables["batches"], self.answer, title)


# -- for people ----------------------------------------------------------------------------------------


def show_values(values: Summary) -> str:
    """One line per value; warnings, if there are any, come last."""
    rest = {name: value for name, value in values.items() if name != "warnings"}
    width = max(map(len, rest), default=0)
    lines = [f"{name.replace('_', ' '):{width}}  {_known(value)}" for name, value in rest.items()]
    return "\n".join([*lines, *show_warnings(values.get("warnings", []))])


def show_warnings(warnings: list[str]) -> list[str]:
    return [f"warning: {warning}" for warning in warnings]


def _known(value: Any) -> Any:
    return "unknown" if value is None or value != value else value  # nan is not equal to itself


def show_words(rows: list[dict[str, Any]]) -> list[str]:
    return [f"topic {row['topic']:3}  {row['share']:6.1%}  {' '.join(row['words'])}" for row in rows]


def show_posterior(summary: Summary) -> str:
    lines = [f"{topics:6} topics  {share:7.2%}" for topics, share in sorted(summary["posterior"].items())]
    rest = {key: value for key, value in summary.items() if key != "posterior"}
    return "\n".join([*lines, "", show_values(rest)])


def show_evidence(summary: Summary) -> str:
    lines = ["topics   log evidence   standard error"]
    for topics, value, error in zip(*(summary[k] for k in ("topics", "log_evidence", "standard_error")), strict=True):
        lines.append(f"{topics:6}  {value:13.2f}   {'unknown' if error is None else f'{error:14.2f}'}")
    if len(set(summary["topics"])) > 1 and "best" in summary:
        others = [str(topics) for topics in summary["not_excluded"] if topics != summary["best"]]
        told = f"the errors do not exclude {', '.join(others)}" if others else "its errors exclude the others"
        lines += ["", f"the largest is at {summary['best']} topics; {told}"]
    if "one_labelling" in summary:
        lines += ["", "for chains that keep to one labelling of their topics:"]
        lines += [f"{t:6}  {value:13.2f}" for t, value in zip(summary["topics"], summary["one_labelling"], strict=True)]
    if "unbiased" in summary:
        about = "unbiased, their logs too low on average" if summary["unbiased"] else "biased"
        lines += ["", f"the estimates of m(T) are {about}"]
    return "\n".join([*lines, "", *show_warnings(summary["warnings"])]).rstrip()


def _hyper_lines(answer: Mapping[str, Any]) -> list[str]:
    """alpha, eta, what is known about them, and the chains."""
    about = {"ellipse": "Monte Carlo error", "region": "alpha and eta themselves"}
    lines = [f"alpha    {answer['alpha']:.4g}", f"eta      {answer['eta']:.4g}"]
    for name, what in about.items():
        one = answer[name]
        ends = one and ", ".join(f"{side} {one[side][0]:.4g} to {one[side][1]:.4g}" for side in ("alpha", "eta"))
        lines.append(f"{name:8} " + (f"{one['level']:.0%}, {what}: {ends}" if one else "unknown"))
    if answer.get("agreement") is not None:
        lines.append(f"agreement of the chains: p = {answer['agreement']:.2g}")
    if "chains" in answer:
        lines += ["", "chain      alpha        eta  round trips  moved"]
    for number, one in enumerate(answer.get("chains", [])):
        lines.append(
            f"{number:5}  {one['alpha']:9.4g}  {one['eta']:9.4g}  {one['round_trips']:11}  {one['moved']:5.0%}"
        )
    return lines


def _by_number(content: Mapping[Any, float]) -> dict[int, float]:
    """JSON has strings for keys."""
    return {int(number): value for number, value in content.items()}


def _or_none(column: pd.Series) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]
