"""What PMMH needs of the estimates of m(T). `pseudo_marginal.Inner` and `annealed.Annealed` are recipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior

if TYPE_CHECKING:
    from bayestopics.evidence.pseudo_marginal import PseudoMarginal

FRESH = "fresh"  # the stream of estimates that no chain uses


class Estimates(Protocol):
    """Makes independent unbiased estimates. Each is identified by T, a number and a stream, which, with the seed,
    decide its bits; there is one stream for each chain, and one for the fresh estimates at the mode."""

    @property
    def inner(self) -> Recipe: ...

    def make_all(self, keys: Sequence[tuple[int, int, str]]) -> list[PseudoMarginal]:
        """The estimates with these (T, number, stream); at most `inner.together` of them."""
        ...


class Recipe(Protocol):
    """How estimates are made."""

    @property
    def together(self) -> int:
        """How many estimates are made at once."""
        ...

    @property
    def shorter(self) -> tuple[int, ...]:
        """Smaller m, for which the estimate from the first m sweeps is reported too."""
        ...

    def settings(self) -> dict[str, Any]:
        """What identifies the recipe in a record."""
        ...

    def estimates(self, corpus: Corpus, prior: Prior, seed: int, assignments: bool) -> Estimates:
        """Estimates on a corpus; `assignments` says whether their z is needed."""
        ...

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, so that no timing includes compilation."""
        ...
