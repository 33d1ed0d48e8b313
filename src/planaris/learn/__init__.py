"""Conditional random fields on planar graphs: maximum likelihood and maximum margin."""

from planaris.errors import NotFittedError
from planaris.learn.crf import PlanarCRF
from planaris.learn.features import pair_features, pixel_features, texture_features
from planaris.learn.grid import GridCRF, GridPotentials
from planaris.learn.instances import (
    Instance,
    edge_features,
    graph_instance,
    group_features,
    image_instance,
)
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
    "graph_instance",
    "group_features",
    "image_instance",
    "pair_features",
    "pixel_features",
    "segment_image",
    "texture_features",
]
