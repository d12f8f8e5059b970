"""Runs: records on disk, checkpoints, and publishing to MLflow."""
