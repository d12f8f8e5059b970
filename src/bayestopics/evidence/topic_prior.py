"""The prior of the number of topics."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayestopics.base.problems import InputError


@dataclass(frozen=True)
class TopicPrior:
    """The prior of the number of topics T on a range.

    Parameters
    ----------
    low : int
        The smallest T.
    high : int, optional
        The largest T. Without it there is no upper limit; a uniform prior needs one.
    kind : str
        ``"uniform"``; ``"poisson"``, with density proportional to rate^T / T!; or ``"geometric"``, with density
        proportional to (1 - p)^T. Both are restricted to the range.
    parameter : float, optional
        The rate of ``"poisson"``, or the p of ``"geometric"``.

    Examples
    --------
    >>> from bayestopics import TopicPrior
    >>> 30 in TopicPrior(1, 20)
    False
    >>> prior = TopicPrior(kind="poisson", parameter=8.0)
    >>> prior.log_density(3) < prior.log_density(8)
    True
    >>> TopicPrior.parse("geometric:0.5", low=1, high=None)
    TopicPrior(low=1, high=None, kind='geometric', parameter=0.5)
    """

    low: int = 1
    high: int | None = None
    kind: str = "uniform"
    parameter: float | None = None

    def __post_init__(self) -> None:
        if self.low < 1 or (self.high is not None and self.high <= self.low):
            raise InputError(
                "the range of the number of topics must start at 1 or more and hold at least two values, "
                f"not {self.low} to {self.high}"
            )
        value = math.nan if self.parameter is None else self.parameter
        if self.kind == "uniform":
            if self.high is None or self.parameter is not None:
                raise InputError("a uniform prior of the number of topics needs an upper limit and takes no parameter")
        elif self.kind == "poisson":
            if not 0 < value < math.inf:
                raise InputError(f"the rate of a Poisson prior must be positive and finite, not {self.parameter}")
        elif self.kind == "geometric":
            if not 0 < value < 1:
                raise InputError(f"a geometric prior needs a probability between 0 and 1, not {self.parameter}")
        else:
            raise InputError(f"unknown prior {self.kind!r}; choose from uniform, poisson:RATE, geometric:P")

    @classmethod
    def parse(cls, text: str, low: int, high: int | None) -> TopicPrior:
        """Build a prior from the text uniform, poisson:RATE or geometric:P."""
        kind, _, parameter = text.partition(":")
        try:
            value = float(parameter) if parameter else None
        except ValueError:
            raise InputError(f"{parameter!r} in the prior {text!r} is not a number") from None
        return cls(low, high, kind, value)

    def __contains__(self, topics: int) -> bool:
        return self.low <= topics and (self.high is None or topics <= self.high)

    @property
    def rises(self) -> float:
        """From this number of empty topics on, the prior of the labelled topics falls with every one more."""
        return self.parameter if self.kind == "poisson" and self.parameter is not None else 0.0

    def log_density(self, topics: int) -> float:
        """The log density of a T in the range, up to a constant."""
        if self.kind == "uniform" or self.parameter is None:
            return 0.0
        if self.kind == "poisson":
            return topics * math.log(self.parameter) - math.lgamma(topics + 1)
        return topics * math.log1p(-self.parameter)
