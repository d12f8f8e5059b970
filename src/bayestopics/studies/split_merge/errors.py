"""Monte Carlo errors of the study `split_merge`: K and the log joint along every chain, K over the chains of a sampler,
and how far its law is from the enumerated one, over chains. Errors of differences between samplers, which are paired by
their seeds, stay with the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, of_chain, of_repeats, second_half, table_of

QUANTITIES = {"topics": "K", "log_joint": "log joint"}
LAW = ("distance_topics", "distance_partitions", "mean_topics")


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for one in records for row in ROWS.get(one.task.params["kind"], lambda _: ())(one))


def _of_chains(record: Result) -> Iterator[Row]:
    for (sampler, seed), chain in record.tables["chains"].groupby(["sampler", "seed"], sort=False):
        for column, quantity in QUANTITIES.items():
            yield of_chain(record.task.name, f"{quantity}, {sampler} {seed}", second_half(chain[column]))


def _of_samplers(record: Result) -> Iterator[Row]:
    yield from _of_chains(record)
    for sampler, chains in record.tables["chains"].groupby("sampler", sort=False):
        means = [second_half(chain["topics"]).mean() for _, chain in chains.groupby("seed")]
        yield of_repeats(record.task.name, f"K, {sampler}", means)


def _of_law(record: Result) -> Iterator[Row]:
    for (case, sampler), chains in record.tables["chains"].groupby(["case", "sampler"], sort=False):
        for name in LAW:
            yield of_repeats(record.task.name, f"{name}, {sampler}, case {case}", chains[name])


ROWS = {"synthetic": _of_samplers, "blocks": _of_chains, "law": _of_law}
