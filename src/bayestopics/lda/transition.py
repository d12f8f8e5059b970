"""What a sweep reports besides the new state."""

from __future__ import annotations

from dataclasses import dataclass

from bayestopics.base.guard import finite
from bayestopics.lda.parameters import Parameters


@dataclass(frozen=True)
class Info:
    log_transition: float | None  # log g(z, z'), if it has a closed form
    parameters: Parameters | None = None  # theta and beta, if the sampler draws them
    log_likelihood: float | None = None  # log p(w | theta, beta), if the sweep computes it anyway

    @property
    def sound(self) -> bool:
        """Whether the sweep's numbers are finite. Weights that are not give topics that look like any others."""
        return all(number is None or finite(number) for number in (self.log_transition, self.log_likelihood))
