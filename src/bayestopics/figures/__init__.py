"""Figures: one module a study. They read run records, and nothing else."""
