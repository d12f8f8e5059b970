"""Study `split_merge`: answers to claims S1 to S5. Each docstring is the rule of its verdict.

The paper does not give gamma, the concentration a, nor how many words a group has; and "the extracted four groups" may
be all, or four of many. So a claim is asked in every setting of ours, of the exact moves and of the paper's rule of
acceptance alike: it is reproduced if it holds in all of them, and partly if in some. Two settings were taken with K of
others in view, both in favour of S1: gamma = 3, because 1 and 10 gave fewer and more than ten topics, and longer groups
with a = 10. So was the corpus of a hundred groups, where K is near ten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, MissingRecords, Records, verdict
from bayestopics.studies.split_merge.tables import (
    FIRST,
    GIBBS,
    LABELS,
    acceptance_around,
    first_sweeps,
    leads,
    mean_and_error,
    of_kind,
    posterior,
    separated_first,
    setting,
    sweeps_to_bulk,
    true_topics,
)

SYNTHETIC = "overlapping-topics"
MOVES = ("exact", "paper")  # the samplers that are judged
FEWEST_SEEDS = 3  # for a standard error over them


def _synthetic(records: Records) -> list[Result]:
    """On the paper's corpus, of any length."""
    found = [r for r in of_kind(records.values(), "synthetic") if r.task.params["corpus"].startswith(SYNTHETIC)]
    if not found:
        raise MissingRecords([SYNTHETIC])
    return found


def _where(record: Result) -> str:
    return f"{record.task.params['corpus']}, {setting(record)}"


def _too_short(found: list[Result], sweeps: int) -> str:
    fewest, seeds = (min(record.task.params[key] for record in found) for key in ("sweeps", "seeds"))
    if fewest < sweeps:
        return f"chains of {fewest} sweeps, below {sweeps}"
    return f"{seeds} seeds, below {FEWEST_SEEDS}" if seeds < FEWEST_SEEDS else ""


def _counted(holds: list[bool]) -> str:
    return f"holds in {sum(holds)} of {len(holds)} cases"


def claim_s1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S1: in each setting a sampler has found all topics at the median over seeds of the first sweep with K >= 10,
    if 10 is the most frequent K in the second half of its chains; else never. A case is a setting with the exact
    moves or the paper's rule: plain Gibbs has not found all within 1000 sweeps, and split-merge has within 25.
    Reproduced if all cases hold, partly if some. Not comparable with shorter chains or fewer than 3 seeds."""
    found, said, holds = _synthetic(records), [], []
    for record in found:
        first, shares, parts, sweep_of = first_sweeps(record), posterior(record), [], {}
        for sampler in (GIBBS, *MOVES):
            mode, median = int(shares.loc[sampler].idxmax()), float(first.loc[sampler].median())
            sweep_of[sampler] = median if mode == true_topics(record) else np.inf
            reached = f"K >= {true_topics(record)} first at {median:.0f}" if np.isfinite(median) else "never there"
            parts.append(f"{LABELS[sampler]} K = {mode}, {reached}")
        late = sweep_of[GIBBS] > numbers["gibbs"]
        holds += [late and sweep_of[sampler] <= numbers["split_merge"] for sampler in MOVES]
        said.append(f"{_where(record)}: {'; '.join(parts)}")
    error = "most frequent K of the second halves; medians over seeds"
    if short := _too_short(found, numbers["gibbs"]):
        return Answer(". ".join(said), f"{error}; {short}", "not comparable")
    return Answer(f"{_counted(holds)}. {'. '.join(said)}", error, verdict(*holds))


def claim_s2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S2: a case is a setting with the exact moves or the paper's rule, in which at least 3 chains come to K >= 10
    before their end. Over those, the share of moves that are accepted is lower after the first such sweep than
    until it, by more than two standard errors of the mean difference. Reproduced if all cases hold, partly if some.
    Not comparable without a case."""
    found, said, holds = _synthetic(records), [], []
    for record in found:
        for sampler in MOVES:
            table = acceptance_around(record, sampler)
            if len(table) < FEWEST_SEEDS:
                continue
            fall, error = mean_and_error(table["before"] - table["after"])
            holds.append(fall > 2 * error)
            said.append(
                f"{_where(record)}, {LABELS[sampler]} ({len(table)} chains): {table['before'].mean():.1%} before, "
                f"{table['after'].mean():.1%} after, fall {fall:.1%} +- {error:.1%}"
            )
    if not holds:
        return Answer("K did not come to 10 in 3 chains of any setting", "", "not comparable")
    return Answer(f"{_counted(holds)}. {'; '.join(said)}", "standard error over chains", verdict(*holds))


def claim_s3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S3: found topics are matched one to one with the true ones; a true topic is separated if its match is nearer
    to it in total variation than half the distance to the next true topic. A case is a setting with the exact moves
    or the paper's rule: of the first five topics plain Gibbs separates at most one, and split-merge at least four,
    in the mean over seeds after the last sweep. Reproduced if all cases hold, partly if some. Not comparable with
    chains below 1000 sweeps or fewer than 3 seeds."""
    found, said, holds = _synthetic(records), [], []
    for record in found:
        separated, matches = separated_first(record), record.tables["matches"].groupby("sampler")
        holds += [separated.loc[GIBBS].mean() <= 1 and separated.loc[sampler].mean() >= FIRST - 1 for sampler in MOVES]
        recall = matches["recall"].mean()
        parts = []
        for sampler in (GIBBS, *MOVES):
            mean, error = mean_and_error(separated.loc[sampler])
            parts.append(f"{LABELS[sampler]} {mean:.1f} +- {error:.1f} (tokens {recall[sampler]:.0%})")
        ceiling = float(matches["ceiling"].mean()[GIBBS])
        said.append(f"{_where(record)}: {', '.join(parts)}; tokens with the true topics known {ceiling:.0%}")
    how = "of the first five topics, +- standard error over seeds; in brackets tokens in their topic's match"
    if short := _too_short(found, numbers["sweeps"]):
        return Answer("; ".join(said), f"{how}; {short}", "not comparable")
    return Answer(f"{_counted(holds)}. {'; '.join(said)}", how, verdict(*holds))


def claim_s3b(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S3b: of the exact moves, in each setting: the first sweep whose K is at the median of the second halves of
    both samplers, or past it, comes earlier with equal chance than by two random words, by more than two standard
    errors of the mean difference over seeds. Reproduced if it holds in all settings, partly if in some. Not
    comparable with chains below 1000 sweeps or fewer than 3 seeds."""
    found, said, holds = _synthetic(records), [], []
    for record in found:
        sweeps = sweeps_to_bulk(record, ("exact", "exact-words"))
        lead, error = mean_and_error(sweeps.loc["exact-words"] - sweeps.loc["exact"])
        holds.append(lead > 2 * error)
        said.append(
            f"{_where(record)}: {sweeps.loc['exact'].mean():.0f} against {sweeps.loc['exact-words'].mean():.0f} "
            f"sweeps, sooner by {lead:.0f} +- {error:.0f}"
        )
    how = "mean over seeds +- standard error"
    if short := _too_short(found, numbers["sweeps"]):
        return Answer("; ".join(said), f"{how}; {short}", "not comparable")
    return Answer(f"{_counted(holds)}. {'; '.join(said)}", how, verdict(*holds))


def _perplexity(records: Records, corpus: str) -> Answer:
    found = [r for r in of_kind(records.values(), "perplexity") if r.task.params["corpus"] == corpus]
    if not found:
        raise MissingRecords([corpus])
    said, holds = [], []
    for record in found:
        table = leads(record)
        for sampler in MOVES:
            parts = []
            for name, words in (("end", "at the end"), ("mean", "over the time")):
                lead, error = mean_and_error(table.loc[table["sampler"] == sampler, name])
                holds.append(lead < -2 * error)
                parts.append(f"{np.expm1(lead):+.1%} +- {error:.1%} {words}")
            said.append(f"{setting(record)}, {LABELS[sampler]}: {', '.join(parts)}")
    sweeps = min(record.task.params["sweeps"] for record in found)
    how = f"perplexity against Gibbs at equal CPU seconds, +- standard error over seeds; {sweeps} sweeps or more"
    if min(record.task.params["seeds"] for record in found) < FEWEST_SEEDS:
        return Answer("; ".join(said), f"{how}; fewer than {FEWEST_SEEDS} seeds", "not comparable")
    return Answer(f"{_counted(holds)}. {'; '.join(said)}", how, verdict(*holds))


def claim_s4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S4: on the NIPS abstracts, a case is a setting with the exact moves or the paper's rule, at the end of the
    CPU seconds that the chains of a seed have in common, or in the mean over them: held-out log perplexity is below
    that of Gibbs by more than two standard errors of the mean difference over seeds. Reproduced if all cases hold,
    partly if some. Not comparable with fewer than 3 seeds."""
    return _perplexity(records, "nips-abstracts")


def claim_s5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """S5: as S4, on the 20 Newsgroups with 100 words."""
    return _perplexity(records, "20news-w100")
