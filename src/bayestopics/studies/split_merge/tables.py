"""Tables of the study `split_merge`, and functions with which its figures and claims read its records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.records import of_kind
from bayestopics.studies.split_merge.errors import LAW, QUANTITIES

GIBBS = "gibbs"
LABELS = {
    GIBBS: "Gibbs",
    "exact": "split-merge, exact",
    "exact-words": "split-merge, exact, by two words",
    "paper": "split-merge, the paper's rule",
}
SETTING = ("gamma", "concentration", "eta", "start")
FIRST = 5  # the topics that overlap most are the first half of the paper's ten


# -- reading -------------------------------------------------------------------------------------------


def in_order(records: Iterable[Result], kind: str) -> list[Result]:
    """The records of a kind, sorted by corpus and then by setting."""
    keys = ("corpus", *SETTING)
    return sorted(of_kind(records, kind), key=lambda record: [record.task.params[key] for key in keys])


def setting(record: Result) -> str:
    params = record.task.params
    start = "" if params["start"] == 1 else f", started with {params['start']} topics"
    return f"gamma = {params['gamma']:g}, a = {params['concentration']:g}, eta = {params['eta']:g}{start}"


def true_topics(record: Result) -> int:
    return len(record.arrays["topics"])


def chains_of(record: Result, sampler: str) -> pd.DataFrame:
    return record.tables["chains"][record.tables["chains"]["sampler"] == sampler]


def second_half(record: Result) -> pd.DataFrame:
    """The sweeps after burn-in."""
    chains = record.tables["chains"]
    return chains[chains["sweep"] > record.task.params["sweeps"] // 2]


def first_sweeps(record: Result) -> pd.DataFrame:
    """The first sweep with the true number of topics or more, samplers x seeds; infinite if there is none."""
    chains = record.tables["chains"]
    there = chains[chains["topics"] >= true_topics(record)].groupby(["sampler", "seed"])["sweep"].min()
    everyone = chains.groupby(["sampler", "seed"]).size().index
    return there.reindex(everyone).astype(float).fillna(np.inf).unstack("seed")


def posterior(record: Result) -> pd.DataFrame:
    """The share of each K in the second half of the sweeps, samplers x K."""
    return second_half(record).groupby("sampler")["topics"].value_counts(normalize=True).unstack(fill_value=0.0)


def acceptance_around(record: Result, sampler: str) -> pd.DataFrame:
    """One row per seed whose chain reached the true number of topics: the acceptance rate before and after that."""
    first = first_sweeps(record).loc[sampler]
    rows = []
    for seed, chain in chains_of(record, sampler).groupby("seed"):
        if not np.isfinite(first[seed]):
            continue
        moves, accepted = moves_of(chain)
        before = (chain["sweep"] <= first[seed]).to_numpy()
        if before.all():
            continue
        rates = [accepted[part].sum() / moves[part].sum() for part in (before, ~before)]
        rows.append({"seed": seed, "before": rates[0], "after": rates[1]})
    return pd.DataFrame(rows, columns=["seed", "before", "after"])


def moves_of(chain: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The proposed and accepted moves of each sweep."""
    proposed = chain["splits"] + chain["merges"]
    return proposed.to_numpy(), (chain["splits_accepted"] + chain["merges_accepted"]).to_numpy()


def separated_first(record: Result) -> pd.DataFrame:
    """How many of the first topics are separated, samplers x seeds."""
    first = record.tables["matches"].query("true < @FIRST")
    return first.groupby(["sampler", "seed"])["separated"].sum().unstack("seed")


def sweeps_to_bulk(record: Result, samplers: Iterable[str]) -> pd.DataFrame:
    """The first sweep at which K reaches or passes its median over the samplers' second halves, samplers x seeds.

    The samplers have the same stationary distribution. The log joint would not do for this purpose: it is a density,
    and highest with few topics. A chain that never gets there counts as one sweep longer than it is.
    """
    names, late = list(samplers), second_half(record)
    level = late.loc[late["sampler"].isin(names), "topics"].median()
    chains = record.tables["chains"][record.tables["chains"]["sampler"].isin(names)]
    from_below = record.task.params["start"] < level
    there = chains[chains["topics"] >= level if from_below else chains["topics"] <= level]
    first = there.groupby(["sampler", "seed"])["sweep"].min()
    everyone = chains.groupby(["sampler", "seed"]).size().index
    return first.reindex(everyone).fillna(record.task.params["sweeps"] + 1).astype(float).unstack("seed")


def perplexities(record: Result) -> pd.DataFrame:
    """The evaluations and their seconds."""
    return record.tables["chains"].merge(
        record.tables["timing"], on=["sampler", "seed", "sweep"], validate="one_to_one"
    )


def at_equal_seconds(record: Result, points: int = 100) -> pd.DataFrame:
    """Log perplexity of every sampler at the same seconds, by interpolation: one row per seed, sampler and time.

    The times of a seed run from 0 to the end of its quickest chain; `share` is the time as a share of that.
    """
    rows = []
    for seed, chains in perplexities(record).groupby("seed"):
        end = chains.groupby("sampler")["seconds"].max().min()
        shares = np.linspace(0, 1, points)
        for sampler, chain in chains.groupby("sampler"):
            values = np.interp(shares * end, chain["seconds"], chain["log_perplexity"])
            columns = {"share": shares, "seconds": shares * end, "log_perplexity": values}
            rows.append(pd.DataFrame(columns).assign(seed=seed, sampler=sampler))
    return pd.concat(rows, ignore_index=True)


def leads(record: Result) -> pd.DataFrame:
    """Log perplexity minus that of Gibbs at equal seconds, at the end and on average: one row per sampler and seed."""
    table = at_equal_seconds(record)
    end = table[table["share"] == 1].pivot(index="sampler", columns="seed", values="log_perplexity")
    mean = table.groupby(["sampler", "seed"])["log_perplexity"].mean().unstack("seed")
    both = {name: (part - part.loc[GIBBS]).drop(index=GIBBS).stack() for name, part in (("end", end), ("mean", mean))}
    return pd.DataFrame(both).reset_index()


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean over seeds and its standard error; nan with one seed."""
    values = np.asarray(list(values), dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


# -- tables ----------------------------------------------------------------------------------------------


def samplers_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for record in in_order(records, "synthetic"):
        params, first, shares = record.task.params, first_sweeps(record), posterior(record)
        matches = record.tables["matches"].groupby("sampler")[["recall", "ceiling"]].mean()
        seconds = record.tables["timing"].groupby("sampler")["seconds"].mean()
        for sampler in [name for name in LABELS if name in first.index]:
            chains = chains_of(record, sampler)
            topics, error = errors_of(errors, record).loc[f"K, {sampler}", ["estimate", "standard_error"]]
            accepted = {
                f"{kind}_accepted": chains[f"{kind}_accepted"].sum() / max(chains[kind].sum(), 1)
                for kind in ("splits", "merges")
            }
            rows.append(
                {"corpus": params["corpus"], **{key: params[key] for key in SETTING}, "sampler": LABELS[sampler]}
                | {"chains": first.shape[1], "sweeps": params["sweeps"]}
                | {"topics": topics, "topics_error": error, "most_frequent": int(shares.loc[sampler].idxmax())}
                | {"share_of_true_topics": shares.loc[sampler].get(true_topics(record), 0.0)}
                | {"chains_with_all_topics": int(np.isfinite(first.loc[sampler]).sum())}
                | {"median_first_sweep_with_all": _finite(first.loc[sampler].median())}
                | {"first_topics_separated": separated_first(record).loc[sampler].mean()}
                | {"tokens_recalled": matches.loc[sampler, "recall"], "ceiling": matches.loc[sampler, "ceiling"]}
                | (accepted if sampler != GIBBS else {})
                | {"seconds": seconds[sampler]}
            )
    return pd.DataFrame(rows)


def _finite(value: float) -> float:
    return value if np.isfinite(value) else np.nan


def perplexity_table(records: list[Result]) -> pd.DataFrame:
    rows = []
    for record in in_order(records, "perplexity"):
        params, table, lead = record.task.params, perplexities(record), leads(record)
        equal = at_equal_seconds(record)
        last = table[table["sweep"] == params["sweeps"]]
        for sampler in [name for name in LABELS if name in set(last["sampler"])]:
            own = last[last["sampler"] == sampler]
            ends = np.exp(equal[(equal["sampler"] == sampler) & (equal["share"] == 1)]["log_perplexity"])
            perplexity, error = mean_and_error(ends)
            row = {"corpus": params["corpus"], **{key: params[key] for key in SETTING}, "sampler": LABELS[sampler]}
            row |= {"chains": len(own), "sweeps": params["sweeps"], "seconds": own["seconds"].mean()}
            row |= {"perplexity_at_equal_seconds": perplexity, "perplexity_error": error}
            row |= {"topics": own["topics"].mean()}
            if sampler != GIBBS:
                for name in ("end", "mean"):
                    value, error = mean_and_error(lead.loc[lead["sampler"] == sampler, name])
                    row |= {f"log_ratio_to_gibbs_{name}": value, f"log_ratio_error_{name}": error}
            rows.append(row)
    return pd.DataFrame(rows)


def blocks_of(record: Result, errors: pd.DataFrame) -> pd.DataFrame:
    """One row per chain: autocorrelation times in sweeps, CPU seconds per sweep, effective draws per second."""
    table, known = record.tables["timing"].copy(), errors_of(errors, record)["autocorrelation_time"]
    for name, quantity in QUANTITIES.items():
        chains = [f"{quantity}, {row.sampler} {row.seed}" for row in table.itertuples()]
        table[f"autocorrelation_{name}"] = known[chains].to_numpy()
    table["seconds_a_sweep"] = table["seconds"] / record.task.params["sweeps"]
    table["draws_a_second"] = 1 / (table["autocorrelation_log_joint"] * table["seconds_a_sweep"])
    return table


def blocks_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for record in in_order(records, "blocks"):
        params = record.task.params
        for sampler, chains in blocks_of(record, errors).groupby("sampler", sort=False):
            row = {"corpus": params["corpus"], **{key: params[key] for key in SETTING}, "sampler": sampler}
            row |= {"tokens_in_blocks": record.metrics["tokens_in_blocks"], "chains": len(chains)}
            for name in ("autocorrelation_topics", "autocorrelation_log_joint"):
                row[name], row[f"{name}_error"] = mean_and_error(chains[name])
            row["milliseconds_a_sweep"] = 1000 * chains["seconds_a_sweep"].mean()
            row["draws_a_second"], row["draws_a_second_error"] = mean_and_error(chains["draws_a_second"])
            rows.append(row)
    return pd.DataFrame(rows)


def agreement_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus, setting and sampler."""
    parts = []
    for record in of_kind(records, "agreement"):
        params, seconds = record.task.params, record.tables["timing"].groupby("sampler")["seconds"].mean()
        part = record.tables["agreement"].copy()
        part.insert(1, "seconds_a_chain", part["sampler"].map(seconds))
        for place, key in enumerate(("corpus", *SETTING[:3])):
            part.insert(place, key, params[key])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def law_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    (record,) = records
    rows, known = [], errors_of(errors, record)[["estimate", "standard_error"]]
    for number, case in enumerate(record.task.params["cases"]):
        of_case = record.tables["chains"][record.tables["chains"]["case"] == number]
        for sampler in LABELS:
            own = of_case[of_case["sampler"] == sampler]
            row = {"tokens": sum(map(len, case["documents"])), **{key: case[key] for key in SETTING[:3]}}
            row |= {"sampler": LABELS[sampler], "chains": len(own), "sweeps": record.task.params["sweeps"]}
            for name in LAW:
                row[name], row[f"{name}_error"] = known.loc[f"{name}, {sampler}, case {number}"]
            rows.append(row | {"exact_mean_topics": own["exact_mean_topics"].iloc[0]})
    return pd.DataFrame(rows)
