"""What the chains over (T, z) have recorded (`jump`), as tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayestopics.evidence.jump import MOVES, TRACE, Chain


def trace_table(chains: list[Chain]) -> pd.DataFrame:
    """One row per iteration and chain, with the burn-in."""
    tables = []
    for chain in chains:
        table = pd.DataFrame(chain.trace, columns=list(TRACE))
        whole = {name: table[name].astype(np.int64) for name in TRACE[:3]}
        table = table.assign(**whole)
        table.insert(0, "chain", chain.number)
        table.insert(1, "step", np.arange(len(table)))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def batches_table(chains: list[Chain]) -> pd.DataFrame:
    """The weight of every T in each batch of each chain; `topic_law.law` makes the posterior from it."""
    rows = [
        (chain.number, batch, topics, weight)
        for chain in chains
        for batch, shares in enumerate(chain.shares)
        for topics, weight in sorted(shares.items())
    ]
    return pd.DataFrame(rows, columns=["chain", "batch", "topics", "weight"])


def moves_table(chains: list[Chain]) -> pd.DataFrame:
    """One row per proposed split or merge."""
    rows = [(chain.number, *move) for chain in chains for move in chain.moves]
    table = pd.DataFrame(rows, columns=["chain", *MOVES])
    whole, yes = ("chain", "iteration", "tokens"), ("split", "accepted")
    kinds = dict.fromkeys(whole, np.int64) | dict.fromkeys(yes, bool)
    return table.astype(dict.fromkeys(MOVES, np.float64) | kinds)  # also without rows
