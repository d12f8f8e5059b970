"""What a sweep tells besides the new state."""

from __future__ import annotations

from dataclasses import dataclass

from bayestopics.lda.parameters import Parameters


@dataclass(frozen=True)
class Info:
    log_transition: float | None  # log g(z, z'), where the sampler has it in closed form
    parameters: Parameters | None = None  # theta and beta, where the sampler draws them
    log_likelihood: float | None = None  # log p(w | theta, beta), where the sweep has it for nothing
