"""The results of the commands: how each is summarised, printed and drawn.

Everything they show is in the record, so a result that was read from disk shows the same as a new one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from bayestopics.base.problems import InputError
from bayestopics.base.wording import NAT, in_figure, rhat_told, show_warnings, visible
from bayestopics.runs.record import check_place, read, write
from bayestopics.runs.result import Result, Summary

if TYPE_CHECKING:
    import arviz
    import pandas as pd
    from matplotlib.figure import Figure


class CommandResult(Result):
    """What the results of all commands share."""

    def __str__(self) -> str:
        return self.text()

    @property
    def name(self) -> str:
        """The name of the corpus, without its folder."""
        return Path(self.task.corpus).name

    @property
    def _shown_name(self) -> str:
        """The name in the title of a figure."""
        return in_figure(self.name)

    def text(self) -> str:
        return show_values(self.summary())

    def save(self, folder: Path | str, overwrite: bool = False) -> None:
        """Write the record to a folder. A different record in that folder is replaced only if `overwrite` is true."""
        check_place(Path(folder), self.key, overwrite)
        write(self, Path(folder))

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read a record that `save` or `--out` wrote."""
        result = read(Path(folder))
        if not isinstance(result, cls):
            wanted = vars(cls).get("kind", f"a {cls.__name__}")
            raise InputError(f"{folder}: this is a record of `{result.task.study}`, not {wanted}")
        return result

    def _volatile(self, *names: str) -> Summary:
        return {name: self.volatile.get(name) for name in names}


class EvidenceResult(CommandResult):
    """The log evidence log m(T) of every T, with its error."""

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

        title = f"{self._shown_name}: log evidence by {self.task.params['method']}, with 2 standard errors"
        return draw_evidence(self.tables["evidence"], self.answer["best"], title, "log p(w | T) (nats)")


class TopicPosteriorResult(CommandResult):
    """The posterior of the number of topics with its error, and diagnostics that say whether to trust it."""

    @property
    def posterior(self) -> dict[int, float]:
        return self._column("probability")

    @property
    def standard_error(self) -> dict[int, float]:
        """The Monte Carlo standard error of each probability."""
        return self._column("standard_error")

    @property
    def _kept(self) -> pd.DataFrame:
        """The trace after the burn-in."""
        return self.trace[self.trace["step"] >= self.task.params["burn_in"]]

    def _column(self, name: str) -> dict[int, float]:
        """A column of the posterior, for every T that is not out of question."""
        table = self.tables["posterior"]
        likely = table[table["probability"] >= LEAST_LIKELY]
        return dict(zip(likely["topics"].tolist(), _or_none(likely[name]), strict=True))

    def summary(self) -> Summary:
        law = {"posterior": self.posterior, "standard_error": self.standard_error}
        return {**law, **self.answer, "warnings": self.warnings}

    def text(self) -> str:
        summary = self.summary()
        words = [*show_words(summary.pop("top_words")), ""] if "top_words" in summary else []
        errors, chains = summary.pop("standard_error"), summary.pop("chains")
        lines = [POSTERIOR]
        lines += share_lines(self.posterior, lambda topics: _plus_minus(errors[topics]))
        lines += ["", *(chain_line(one) for one in chains), ""]
        lines += [hyper_line(name, summary.pop(name)) for name in ("alpha", "eta") if name in summary]
        known = {name for name, value in summary.items() if value is not None} | ({"mean_error"} & set(summary))
        rest = {name: value for name, value in summary.items() if name != "posterior" and name in known}
        about = f"(this is about the number of topics; `bayestopics fit --topics {summary['mode']}` lists the topics)"
        return "\n".join([*words, *lines, about, "", show_values(rest, JUMP if self.task.name == "jump" else {})])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_posterior

        title = f"{self._shown_name}: posterior of the number of topics, with 2 standard errors"
        return draw_posterior(self.posterior, title, self.standard_error)

    def to_arviz(self) -> arviz.InferenceData:
        """The number of topics and the log joint (jump) or log estimate (pmmh) at every kept step (chains x steps).
        Draws of jump are weighted: `log_weight` is the log of their weights."""
        from bayestopics.runs.export import chains_to_arviz

        kept = self._kept
        names = [name for name in ("topics", "log_estimate", "log_joint", "log_weight") if name in kept]
        names += ["alpha", "eta"] if self.task.study == "select" or self.task.params.get("hyper") == "sampled" else []
        return chains_to_arviz(self, kept, names)


def hyper_line(name: str, law: Mapping[str, float]) -> str:
    return f"{name:5}  {law['median']:.4g}, with probability 95 % between {law['low']:.3g} and {law['high']:.3g}"


def chain_line(chain: Mapping[str, Any]) -> str:
    return f"chain from {chain['start']:2} topics: mean {chain['mean']:.2f}, most probable {chain['mode']}"


class HyperResult(CommandResult):
    """The best alpha and eta, with their Monte Carlo error and their uncertainty given the corpus."""

    @property
    def asymmetric(self) -> bool:
        """Every topic has its own alpha."""
        return bool(self.task.params.get("asymmetric", False))

    def text(self) -> str:
        lines = _asymmetric_lines(self.answer) if self.asymmetric else _hyper_lines(self.answer)
        return "\n".join([*lines, *show_warnings(self.warnings)])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_asymmetric, draw_draws, draw_path, draw_score, draw_surface

        title = f"{self._shown_name}, T = {self.task.params['topics']}"
        if self.asymmetric:
            return draw_asymmetric(self.tables["alpha"], self.answer, f"{title}: the alpha of each topic")
        if "surface" in self.tables:
            beside = self.tables.get("integration")
            return draw_surface(self.tables["surface"], self.answer, f"{title}: log M-hat(h), chain 0", beside)
        if self.task.params["method"] == "score":
            return draw_score(self.tables["path"], self.answer, f"{title}: score chains")
        if "path" in self.tables:
            return draw_path(self.tables["path"], f"{title}: {self.task.params['method']}")
        return draw_draws(self.trace, self.answer, f"{title}: alpha and eta sampled with the topics")

    def to_arviz(self) -> arviz.InferenceData:
        """The alpha and eta that each chain of tempering or of full Bayes visited, or the scores of score chains
        (chains x sweeps)."""
        from bayestopics.runs.export import chains_to_arviz

        if "trace" not in self.tables:
            raise InputError(f"the method {self.task.params['method']} has no chains to export")
        scores = [name for name in self.trace if name.startswith("score_")]
        names = scores or ["alpha", "eta"]
        return chains_to_arviz(self, self.trace, names)


def share_lines(shares: Mapping[int, float], more: Callable[[int], str] = lambda _: "") -> list[str]:
    """A line for each number of topics, and what there is `more` to say about it; one for all small shares of many."""
    least = SHOWN_FROM if len(shares) > MANY_SHARES else 0.0
    shown = sorted(topics for topics, share in shares.items() if share >= least)
    lines = [f"{topics:6} topics  {shares[topics]:6.1%}{more(topics)}" for topics in shown]
    rest = [share for share in shares.values() if share < least]
    return [*lines, f"{len(rest):6} others  {sum(rest):6.1%} together"] if rest else lines


def _plus_minus(error: float | None) -> str:
    return f" +- {error:.1%}" if error is not None else ""


class HdpResult(CommandResult):
    """The number of topics of a model that does not fix it."""

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
            lines.append(f"{name}: mean {drawn['mean']:.3g}, standard deviation {drawn['standard_deviation']:.2g}")
        if len(summary["chains"]) > 1:
            for number, chain in enumerate(summary["chains"]):
                mean = sum(topics * share for topics, share in chain["topics"].items())
                start = "" if chain["start"] is None else f" from {chain['start']:2} topics"
                lines.append(f"chain {number}{start}: {mean:.1f} topics on average")
            lines.append("")
        rest = {
            k: v
            for k, v in summary.items()
            if k not in ("top_words", "chains", "concentrations", "topics", "best_chain")
        }
        for key in ("acceptance_rate", "rhat_topics", "rhat_log_joint", "heldout_per_word"):  # None: does not apply
            if rest[key] is None:
                del rest[key]
        if "heldout_per_word" not in rest:
            del rest["heldout_standard_error"]
        title = POSTERIOR if "log_joint" in self.trace else "number of topics at the end, as a share of the runs:"
        return "\n".join([*lines, show_posterior({**rest, "posterior": self.posterior}, title)])

    def plot(self) -> Figure:
        from bayestopics.runs.plots import draw_posterior

        return draw_posterior(
            self.posterior, f"{self._shown_name}: number of topics, {self.task.name.replace('/', ', ')}"
        )

    def to_arviz(self) -> arviz.InferenceData:
        """The number of topics and the log joint at every kept sweep (chains x sweeps)."""
        from bayestopics.runs.export import chains_to_arviz

        if "log_joint" not in self.trace:
            raise InputError(f"the method {self.task.params['method']} has no chains to export")
        kept = self.trace[self.trace["sweep"] >= self.task.params["burn_in"]]
        return chains_to_arviz(self, kept, ["topics", "log_joint"])


# -- for people ----------------------------------------------------------------------------------------


# weighted chains of moderate length agree well enough below a larger R-hat than plain ones
JUMP = {"rhat": "R-hat of T (good: at most 1.05)", "rhat_log_joint": "R-hat of the log joint (good: at most 1.05)"}
DIAGNOSTICS = (
    *("mean", "mean_error", "rhat", "rhat_log_joint", "rhat_log_alpha", "rhat_log_eta"),
    *("effective_sample_size", "total_variation", "acceptance_rate"),
)
SIDES = ("alpha", "eta")
MANY_SHARES, SHOWN_FROM = (
    10,
    0.001,
)  # in a longer list, numbers of topics with a smaller share have no line of their own
LEAST_LIKELY = 1e-6  # numbers of topics with a smaller posterior probability are not shown
POSTERIOR = "posterior probability of each number of topics:"
# words for people, and the format of the number; a value with an error is rounded to two digits of its error
SHOWN = {
    "log_joint_mean": ("mean log joint probability log p(w, z) (nats)", "log_joint_error"),
    "log_joint_error": ("its Monte Carlo standard error", ".2g"),
    "seconds": ("sampling time (seconds)", ".2g"),
    "tokens_per_second": ("tokens per second", ",.0f"),
    "rhat": ("R-hat (the chains agree if it is at most 1.01)", ".3f"),
    "rhat_topics": ("R-hat of the number of topics (good: at most 1.01)", ".3f"),
    "rhat_log_joint": ("R-hat of the log joint (good: at most 1.01)", ".3f"),
    "rhat_log_alpha": ("R-hat of log alpha (good: at most 1.05)", ".3f"),
    "rhat_log_eta": ("R-hat of log eta (good: at most 1.05)", ".3f"),
    "effective_sample_size": ("effective sample size", ".0f"),
    "topics_of": ("the topics are those of", ""),
    "mode": ("most probable number of topics", ""),
    "mean": ("mean number of topics", "mean_error"),
    "mean_error": ("its Monte Carlo standard error", ".2g"),
    "acceptance_rate": ("share of proposals that were accepted", ".1%"),
    "longest_stay": ("longest stay at one number of topics (steps)", ""),
    "log_estimate_sd": ("scatter of the log evidence estimates (nats)", ",.1f"),
    "total_variation": ("difference between chains (0: none, 1: complete)", ".2f"),
    "log_score": ("mean log probability", "standard_error"),
    "standard_error": ("its Monte Carlo standard error", ".2g"),
    "sampling_error": ("its error from the choice of documents", ".2g"),
    "perplexity": ("perplexity per word", ".3g"),
    "lower": ("its lower bound, up to noise", ",.2f"),
    "upper": ("its upper bound, up to noise", ",.2f"),
    "heldout_tokens": ("number of held-out words", ""),
    "heldout_per_word": ("log probability per held-out word (nats)", "heldout_standard_error"),
    "heldout_standard_error": ("its standard error", ".2g"),
}


def show_values(values: Summary, labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """One line per value, labelled by `labels` or SHOWN; warnings, if there are any, come last."""
    rows = labelled({name: value for name, value in values.items() if name != "warnings"}, labels)
    width = max((len(label) for label, _ in rows), default=0)
    lines = [f"{label:{width}}  {value}" for label, value in rows]
    warnings = values.get("warnings", [])
    if any("(nats)" in label for label, _ in rows) and not any(NAT in one for one in warnings):
        lines.append(f"(nats: {NAT})")
    return "\n".join([*lines, *show_warnings(warnings)])


def labelled(values: Summary, labels: Mapping[str, str] = MappingProxyType({})) -> list[tuple[str, str]]:
    """What each value is, in words, and the value as it is shown."""
    names = {name: labels.get(name, SHOWN.get(name, (name.replace("_", " "),))[0]) for name in values}
    return [(names[name], _written(name, values)) for name in values]


# of the number of topics: a mean of whole numbers that is known so well is as good as known
MEAN, SURE = ("mean", "mean_error"), 0.005


def _written(name: str, values: Summary) -> str:
    value, form = values[name], SHOWN.get(name, ("", ""))[1]
    if value is None or value != value:  # nan is not equal to itself
        return "unknown"
    if name.startswith("rhat"):
        return rhat_told(value, form)
    if name in MEAN and values[MEAN[1]] is not None and values[MEAN[1]] < SURE:
        return f"{value:.2f}" if name == MEAN[0] else f"less than {SURE}"
    if form in values:  # the name of the value's error
        return with_error(value, values[form], ".4g")
    return format(value, form)


def with_error(value: float, error: float | None, otherwise: str) -> str:
    """A value, rounded to two digits of its error; in the form `otherwise` if that is unknown."""
    known = error is not None and error > 1e-9
    return format(value, f",.{max(0, 1 - math.floor(math.log10(error)))}f" if known and error else otherwise)


MANY_TOPICS = 30  # a longer list would push the answer off the screen


def show_words(rows: list[dict[str, Any]], notes: list[str] | None = None, about: str = "") -> list[str]:
    """One line per topic; the notes, one per topic and described by `about`, stand before the words."""
    title = f"share of the tokens{about} and most frequent words of each topic:"
    shown = [f"{row['share']:6.1%}" for row in rows]
    if notes is not None:
        shown = [f"{share}  {note}" for share, note in zip(shown, notes, strict=True)]
    lines = [
        f"topic {row['topic']:3}  {one}  {' '.join(map(visible, row['words']))}"
        for row, one in zip(rows, shown, strict=True)
    ]
    lines = [line.rstrip() for line in lines]
    if len(lines) > MANY_TOPICS:
        left = sum(row["share"] for row in rows[MANY_TOPICS:])
        more = f"{len(lines) - MANY_TOPICS} more topics have {left:.1%} of the tokens together (--json prints them all)"
        lines = [*lines[:MANY_TOPICS], more]
    return [title, *lines]


def show_shares(shares: Mapping[int, float], title: str) -> list[str]:
    return [title, *share_lines(shares)]


def show_posterior(summary: Summary, title: str) -> str:
    rest = {key: value for key, value in summary.items() if key != "posterior"}
    return "\n".join([*show_shares(summary["posterior"], title), "", show_values(rest)])


def show_evidence(summary: Summary) -> str:
    lines = ["topics   log evidence   standard error"]
    for topics, value, error in zip(*(summary[k] for k in ("topics", "log_evidence", "standard_error")), strict=True):
        told = "unknown" if error is None else with_error(error, error, ".2f")
        lines.append(f"{topics:6}  {with_error(value, error, ',.2f'):>13}   {told:>14}")
    if len(set(summary["topics"])) > 1 and "best" in summary:
        others = [str(topics) for topics in summary["not_excluded"] if topics != summary["best"]]
        told = f"the errors do not rule out {', '.join(others)}" if others else "the errors rule out all the others"
        lines += ["", f"The evidence is largest at {summary['best']} topics; {told}."]
    if "one_labelling" in summary:
        lines += ["", "Log evidence if the chains keep to one labelling of their topics:"]
        lines += [f"{t:6}  {value:13.2f}" for t, value in zip(summary["topics"], summary["one_labelling"], strict=True)]
    explained = any(NAT in warning for warning in summary["warnings"])
    unit = "in nats" if explained else f"in nats ({NAT})"
    lines += ["", f"The log evidence log p(w | T) is the log probability of the whole corpus, {unit}."]
    if "unbiased" in summary:
        about = "unbiased, so their logs are too low on average" if summary["unbiased"] else "biased"
        lines.append(f"The estimates of p(w | T) are {about}.")
    return "\n".join([*lines, "", *show_warnings(summary["warnings"])]).rstrip()


def _hyper_lines(answer: Mapping[str, Any]) -> list[str]:
    """alpha and eta, the two regions around them, and the chains."""
    about = {"ellipse": "Monte Carlo error", "region": "uncertainty given the corpus"}
    lines = [f"{side:8} {with_error(answer[side], _deviation(answer['ellipse'], side), '.4g')}" for side in SIDES]
    for name, what in about.items():
        one = answer[name]
        ends = one and ", ".join(f"{side} {_ends(*one[side])}" for side in SIDES)
        lines.append(f"{name:8} " + (f"{what} ({one['level']:.0%}): {ends}" if one else f"unknown ({what})"))
    lines += _agreement_lines(answer)
    if "chains" not in answer:
        return lines
    if "round_trips" in answer["chains"][0]:
        trips = (
            "a round trip crosses the grid of alpha and eta and comes back; moved is the share of sweeps with a move"
        )
        lines += ["", f"the chains ({trips}):", "chain      alpha        eta  round trips  moved"]
    else:
        lines += ["", "the chains:", "chain      alpha        eta"]
    for number, one in enumerate(answer["chains"]):
        trips = f"  {one['round_trips']:11}  {one['moved']:5.0%}" if "round_trips" in one else ""
        lines.append(f"{number:5}  {one['alpha']:9.4g}  {one['eta']:9.4g}{trips}")
    return lines


def _deviation(ellipse: Mapping[str, Any] | None, side: str) -> float | None:
    """About one standard error: a quarter of the width of the 95 % ellipse, if both of its ends are known."""
    low, high = ellipse[side] if ellipse else (None, None)
    return None if low is None or high is None else (high - low) / 4


def _agreement_lines(answer: Mapping[str, Any]) -> list[str]:
    lines = []
    if answer.get("agreement") is not None:
        lines.append(f"agreement of the chains: p = {answer['agreement']:.2g} (a small p means that they disagree)")
    if answer.get("precision") is not None:
        lines.append(
            f"precision: the Monte Carlo error is {answer['precision']:.2g} of the uncertainty given the corpus"
        )
    return lines


def _asymmetric_lines(answer: Mapping[str, Any]) -> list[str]:
    """One line per topic, and what the alphas gain."""
    level, errors = answer["region"]["level"], answer["standard_error"]
    title = f"{level:.0%} given the corpus"
    lines = [f"topic      alpha  Monte Carlo error  {title:22}  tokens  words"]
    rows = zip(answer["alpha"], errors["alpha"], answer["region"]["alpha"], answer["top_words"], strict=True)
    for number, (alpha, error, ends, described) in enumerate(rows):
        told = f"{described['share']:6.1%}  {' '.join(described['words'][:5])}"
        lines.append(f"{number:5}  {alpha:9.4g}  {_error(error):>17}  {_known(ends):22}  {told}".rstrip())
    lines.append(
        f"  eta  {answer['eta']:9.4g}  {_error(errors['eta']):>17}  {_known(answer['region']['eta'])}".rstrip()
    )
    gained, single = answer["gain"], answer["symmetric"]
    scatter = "" if gained["standard_error"] is None else f" (standard error {gained['standard_error']:.2g})"
    size = f"{abs(gained['log_m']):.1f} nats{scatter} {'larger' if gained['log_m'] > 0 else 'smaller'}"
    best = f"alpha {single['alpha']:.3g}, eta {single['eta']:.3g}"
    lines += ["", f"gain: log m is {size} than with the best single alpha ({best})"]
    return [*lines, *_agreement_lines(answer)]


def _error(error: float | None) -> str:
    return "unknown" if error is None else f"{error:.2g}"


def _known(ends: list[float | None]) -> str:
    return "unknown" if ends[0] is None else _ends(*ends)


def _ends(low: float | None, high: float | None) -> str:
    """The ends of a range, of which one or both may be open."""
    if low is None or high is None:
        return "anything" if low is high else f"up to {high:.3g}" if low is None else f"{low:.3g} or more"
    return f"{low:.3g} to {high:.3g}"


def _by_number(content: Mapping[Any, float]) -> dict[int, float]:
    """The same with whole numbers as keys, which JSON turns into strings."""
    return {int(number): value for number, value in content.items()}


def _or_none(column: pd.Series) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]
