"""Conditional random fields on planar graphs: maximum likelihood and maximum margin."""

from planaris.learn.grid import GridCRF, GridPotentials, fit_grid_crf

__all__ = ["GridCRF", "GridPotentials", "fit_grid_crf"]
