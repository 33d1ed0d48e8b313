"""Recovery of more than two labels: observations and estimators."""
