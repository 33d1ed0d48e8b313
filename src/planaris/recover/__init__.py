"""Recover labels from noisy observations of nodes and edges (GRSY15)."""

from planaris.recover.clustering import TwoClusters, two_clusters
from planaris.recover.estimators import (
    MAP,
    CycleLP,
    Estimator,
    HillClimbing,
    LocalLP,
    Marginal,
    Recovery,
    TwoStep,
)
from planaris.recover.guarantees.error_bounds import (
    bad_probability,
    expander_bound,
    lower_bound,
    single_flip_error,
    upper_bound,
)
from planaris.recover.guarantees.expansion import (
    WeakExpansion,
    exact_expansion,
    spectral_expansion,
    weak_expansion,
)
from planaris.recover.guarantees.polygons import PolygonConstant, polygon_areas, polygon_constant
from planaris.recover.guarantees.regions import (
    boundary_edges,
    fill_in,
    flipping_lemma_holds,
    is_bad,
    region_type,
    wrong_regions,
)
from planaris.recover.guided import Guided, guided_noise
from planaris.recover.images import image_noise, observe_image
from planaris.recover.labels.estimators import (
    LabelEstimator,
    LabelMAP,
    LabelMarginal,
    LabelRecovery,
    LabelTwoStep,
)
from planaris.recover.labels.observations import (
    LabelObservations,
    label_posterior,
    observe_labels,
)
from planaris.recover.noise_levels.crf import CRFNoise, crf_noise
from planaris.recover.noise_levels.maximum_likelihood import NoiseEstimate, estimate_noise
from planaris.recover.observe import Graph, Observations, as_graph, observe
from planaris.recover.ties import sample_ground_states
from planaris.recover.weights import log_odds, noise_of, posterior_model

__all__ = [
    "MAP",
    "CRFNoise",
    "CycleLP",
    "Estimator",
    "Graph",
    "Guided",
    "HillClimbing",
    "LabelEstimator",
    "LabelMAP",
    "LabelMarginal",
    "LabelObservations",
    "LabelRecovery",
    "LabelTwoStep",
    "LocalLP",
    "Marginal",
    "NoiseEstimate",
    "Observations",
    "PolygonConstant",
    "Recovery",
    "TwoClusters",
    "TwoStep",
    "WeakExpansion",
    "as_graph",
    "bad_probability",
    "boundary_edges",
    "crf_noise",
    "estimate_noise",
    "exact_expansion",
    "expander_bound",
    "fill_in",
    "flipping_lemma_holds",
    "guided_noise",
    "image_noise",
    "is_bad",
    "label_posterior",
    "log_odds",
    "lower_bound",
    "noise_of",
    "observe",
    "observe_image",
    "observe_labels",
    "polygon_areas",
    "polygon_constant",
    "posterior_model",
    "region_type",
    "sample_ground_states",
    "single_flip_error",
    "spectral_expansion",
    "two_clusters",
    "upper_bound",
    "weak_expansion",
    "wrong_regions",
]
