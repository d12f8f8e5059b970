"""Bayesian topic models: how many topics, which hyperparameters, which sampler, each with an error bar."""

__version__ = "0.1.0"
