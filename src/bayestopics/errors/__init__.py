"""Monte Carlo error of averages over a Markov chain."""

from bayestopics.errors.autocorrelation import autocorrelation_time
from bayestopics.errors.batch_means import (
    batch_means,
    effective_sample_size,
    interval,
    mcse,
    overlapping_batch_means,
)

__all__ = [
    "autocorrelation_time",
    "batch_means",
    "effective_sample_size",
    "interval",
    "mcse",
    "overlapping_batch_means",
]
