"""Prediction of words that the model has not seen."""
