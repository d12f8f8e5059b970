"""Prediction of words that the model has not seen."""

METHODS = ("completion", "leave-one-out")
BETAS = ("integrated", "drawn")  # of leave-one-out: the topics given z
