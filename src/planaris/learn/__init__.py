"""Conditional random fields on planar graphs: maximum likelihood and maximum margin."""

from planaris.learn.crf import NotFittedError, PlanarCRF
from planaris.learn.features import edge_features, group_features
from planaris.learn.grid import GridCRF, GridPotentials, fit_grid_crf
from planaris.learn.instances import Instance, graph_instance, image_instance
from planaris.learn.optimize import Training
from planaris.learn.segmentation import Segmentation, segment_image
from planaris.learn.tied import TiedGraph

__all__ = [
    "GridCRF",
    "GridPotentials",
    "Instance",
    "NotFittedError",
    "PlanarCRF",
    "Segmentation",
    "TiedGraph",
    "Training",
    "edge_features",
    "fit_grid_crf",
    "graph_instance",
    "group_features",
    "image_instance",
    "segment_image",
]
