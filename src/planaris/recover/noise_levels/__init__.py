"""Noise levels from observations: by maximum likelihood, or from the weights of a trained model."""
