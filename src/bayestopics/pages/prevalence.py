"""How much of the documents is about a topic, over dates and by any other column of the metadata.

The share of a topic in a group is the mean of theta over its documents. Its interval covers 95 % and has two parts: the
scatter of theta between documents, because other documents of the group could have been written, and what the draws
leave open about each document. It takes the topics as they are: that another chain may have other topics is not in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from bayestopics.corpus.corpus import Corpus
from bayestopics.pages.topics import rounded, short
from bayestopics.runs.draws import Moments

COLUMNS = 12
MOST_GROUPS = 20  # of a column of words; the rest are "others"
MOST_PERIODS = 40
FEWEST_DOCUMENTS = 3  # of a period, on average
BINS = 8  # of a column of numbers
LEVEL = 0.95
CALLED_DATE = re.compile("date|time|day|month|published|created", re.IGNORECASE)
CALLED_YEAR = re.compile("year", re.IGNORECASE)
PERIODS = {"D": "day", "W": "week", "M": "month", "Q": "quarter", "Y": "year"}


@dataclass(frozen=True, eq=False)
class Groups:
    """A column of the metadata as groups of documents."""

    column: str
    kind: str  # "dates" or "words"
    labels: list[str]
    group: np.ndarray  # of each document; -1 if its value is missing
    note: str = ""


def groups_of(corpus: Corpus) -> tuple[list[Groups], list[str]]:
    """The columns that make groups, and the names of the others."""
    columns: dict[str, pd.Series] = {}
    if corpus.metadata is not None:
        columns = {str(name): corpus.metadata[name].reset_index(drop=True) for name in corpus.metadata}
    if corpus.labels is not None and "label" not in map(str.lower, columns):
        columns = {"label": pd.Series(corpus.labels, dtype=object), **columns}
    found: list[Groups] = []
    others: list[str] = []
    for name, values in columns.items():
        groups = group(name, values)
        if groups is None or len(found) == COLUMNS:
            others.append(short(name))
        else:
            found.append(groups)
    return sorted(found, key=lambda one: one.kind != "dates"), others


def group(name: str, values: pd.Series) -> Groups | None:
    """The groups of one column; None if its values are constant, or are names of the documents."""
    filled = values.map(lambda value: np.nan if str(value).strip() in ("", "None", "<NA>", "nan", "NaT") else value)
    dates = _dates(name, filled)
    if dates is not None:
        return _by_date(name, dates)
    numbers = pd.to_numeric(filled, errors="coerce")
    different = filled.nunique()
    if different < 2:
        return None
    if different > MOST_GROUPS and numbers.notna().sum() >= 0.95 * filled.notna().sum():
        return None if different >= 0.9 * filled.notna().sum() and _counts_up(numbers) else _by_number(name, numbers)
    return _by_value(name, filled.map(str, na_action="ignore"))


def _counts_up(numbers: pd.Series) -> bool:
    """A number that says which document it is, such as 1, 2, 3."""
    known = numbers.dropna()
    return bool((known == known.round()).all())


def _dates(name: str, values: pd.Series) -> pd.Series | None:
    """The values as days, if they are dates: real ones, ISO 8601, or another form in a column that is called so."""
    known = values.dropna()
    if not len(known):
        return None
    if pd.api.types.is_datetime64_any_dtype(known):
        return _days(pd.to_datetime(values, errors="coerce", utc=True))
    texts = values.map(str, na_action="ignore")
    if CALLED_YEAR.search(name) or CALLED_DATE.search(name):
        years = texts.str.extract(r"^\s*(1\d{3}|20\d{2})(?:\.0)?\s*$")[0]
        if years.notna().sum() >= 0.95 * len(known):
            return _days(pd.to_datetime(years, format="%Y", errors="coerce", utc=True))
    iso = texts.str.match(r"^\s*\d{4}-\d{2}(-\d{2}([T ].*)?)?\s*$", na=False)
    if iso.sum() >= 0.95 * len(known):
        return _days(pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True))
    if CALLED_DATE.search(name):
        found = pd.to_datetime(texts, format="mixed", errors="coerce", utc=True)
        numbers = pd.to_numeric(texts, errors="coerce").notna().sum()
        if found.notna().sum() >= 0.95 * len(known) and not numbers:
            return _days(found)
    return None


def _days(found: pd.Series) -> pd.Series | None:
    days = found.dt.tz_localize(None)
    return days if days.nunique() > 1 else None


def _by_date(name: str, dates: pd.Series) -> Groups:
    """By the shortest periods that are not too many, have enough documents, and are no shorter than the dates tell."""
    known = dates.dropna()
    monthly, yearly = (known.dt.day == 1).all(), (known.dt.day_of_year == 1).all()
    for unit in "Y" if yearly else "MQY" if monthly else PERIODS:
        periods = known.dt.to_period(unit)
        numbers = periods.map(lambda one: one.ordinal).reindex(dates.index)
        first, last = int(numbers.min()), int(numbers.max())
        if last - first < min(MOST_PERIODS, len(known) / FEWEST_DOCUMENTS):
            break
    step = max(1, -(-(last - first + 1) // MOST_PERIODS))  # years, for more than MOST_PERIODS of them
    step = step if step == 1 else 10 * -(-step // 10)
    starts = first - first % step if step > 1 else first
    index = np.where(numbers.notna(), (numbers.fillna(first) - starts) // step, -1).astype(int)
    begins = [pd.Period(ordinal=starts + step * one, freq=unit) for one in range(index.max() + 1)]
    labels = [str(one.start_time.date()) if unit in "DW" else str(one) for one in begins]
    return Groups(name, "dates", labels, index, f"by {PERIODS[unit]}" if step == 1 else f"by {step} years")


def _by_number(name: str, numbers: pd.Series) -> Groups:
    bins = pd.qcut(numbers, BINS, duplicates="drop")
    ends = [f"{one.left:,.6g} to {one.right:,.6g}" for one in bins.cat.categories]
    return Groups(name, "words", ends, bins.cat.codes.to_numpy().astype(int), "in groups of about the same size")


def _by_value(name: str, texts: pd.Series) -> Groups | None:
    counts = texts.value_counts()
    if len(counts) > 0.5 * counts.sum() or counts.iloc[:MOST_GROUPS].sum() < 0.3 * counts.sum():
        return None  # names of single documents, or nearly so
    kept = list(counts.index[:MOST_GROUPS])
    place = {value: number for number, value in enumerate(kept)}
    others = len(counts) > MOST_GROUPS
    index = texts.map(lambda value: place.get(value, len(kept)), na_action="ignore").fillna(-1).to_numpy().astype(int)
    labels = [short(value) for value in kept] + ([f"{len(counts) - len(kept):,} others"] if others else [])
    return Groups(name, "words", labels, index)


def shares(theta: Moments, groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(number of documents, groups; mean share, groups x topics; half of its interval, nan for fewer than two)."""
    size = len(groups.labels)
    number = np.bincount(groups.group[groups.group >= 0], minlength=size)
    mean, half = np.full((2, size, theta.mean.shape[1]), np.nan)
    for one in np.flatnonzero(number):
        own = groups.group == one
        mean[one] = theta.mean[own].mean(axis=0)
        if number[one] > 1:
            variance = theta.mean[own].var(axis=0, ddof=1) + np.square(theta.deviation[own]).mean(axis=0)
            half[one] = student.ppf((1 + LEVEL) / 2, number[one] - 1) * np.sqrt(variance / number[one])
    return number, mean, half


def prevalence_data(theta: Moments, corpus: Corpus) -> tuple[list[dict[str, Any]], list[str]]:
    """One entry per column, and the names of the columns that make no groups."""
    found, others = groups_of(corpus)
    data = []
    for groups in found:
        number, mean, half = shares(theta, groups)
        entry = {"column": short(groups.column), "kind": groups.kind, "note": groups.note, "labels": groups.labels}
        data.append({**entry, "documents": number.tolist(), "mean": rounded(mean.T), "half": rounded(half.T)})
    return data, others
