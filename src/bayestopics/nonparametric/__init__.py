"""Dirichlet process mixtures and the HDP topic model: as many components as the data ask for."""
