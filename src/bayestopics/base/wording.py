"""Words and numbers in messages for people that several packages share."""

from __future__ import annotations

from collections.abc import Iterable

NAT = "a difference of 1 nat is a factor of 2.7 in probability"


def nats(value: float) -> str:
    """A number of nats that is known only roughly, with two digits and no exponent: 956.3 becomes "960 nats"."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,g} nat{'' if rounded == 1 else 's'}"


def explain_once(warnings: Iterable[str]) -> list[str]:
    """The same warnings; what a nat is stays only in the first that explains it."""
    explained, result = False, []
    for warning in warnings:
        result.append(warning.replace(f" ({NAT})", "") if explained else warning)
        explained = explained or NAT in warning
    return result
