"""Grid CRFs with a field at every pixel: likelihood, piecewise and pseudo-likelihood training.

A grid with fields everywhere is not planar, so its likelihood has no exact gradient at size; tensor
networks estimate it to many digits. Two objectives need no sums over all masks: *piecewise* (every
pixel and every edge is a model of its own; a sum of upper bounds on log Z) and
*pseudo-likelihood* (every pixel given its neighbours). Both are logistic regressions. See
docs/theory/learning.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planaris.errors import ModelError, NotFittedError, require_one_of
from planaris.learn.features import ImageFeatures, pair_features, pixel_features
from planaris.learn.grid_likelihood import GridExample, maximise_likelihood
from planaris.learn.instances import as_examples, as_image
from planaris.learn.logistic import fit_logistic
from planaris.learn.parameters import Parameters
from planaris.models import IsingModel
from planaris.models.arrays import as_array, as_number, as_real
from planaris.typing import ArrayLike, BoolArray, FloatArray, Int8Array

METHODS = ("piecewise", "pseudo-likelihood", "likelihood")


@dataclass(frozen=True, eq=False)
class GridPotentials:
    """Weights of a grid model: P(s) ∝ exp(Σ β_uv s_u s_v + Σ β_u s_u).

    Attributes
    ----------
    nodes : numpy.ndarray
        ``β_u``, shape (H, W).
    right, down : numpy.ndarray
        ``β_uv`` to the right neighbour (H, W - 1) and to the one below (H - 1, W).
    """

    nodes: FloatArray
    right: FloatArray
    down: FloatArray

    @property
    def edges(self) -> FloatArray:
        """All ``β_uv`` in the order of :func:`planaris.generate.square_lattice`."""
        return np.concatenate([self.right.ravel(), self.down.ravel()])

    @property
    def model(self) -> IsingModel:
        """The Ising model; spin +1 is the foreground."""
        return IsingModel.from_image(self.nodes, self.right, self.down)


class GridCRF(Parameters):
    """A grid CRF with a field at every pixel and a coupling at every edge, as an estimator.

    ``β_u = ⟨node features, node_weights_⟩`` and ``β_uv = ⟨edge features, edge_weights_⟩``. Learned
    couplings are attractive in nearly all images; those that are not are taken as zero when a
    mask is predicted, so that the most probable mask is a minimum cut: exact, in milliseconds.

    Parameters
    ----------
    method : {"piecewise", "pseudo-likelihood", "likelihood"}
        Pieces of one pixel or edge each, each pixel given its neighbours, or whole masks, with
        gradients that tensor networks estimate.
    regularization : float
        ``λ`` of ``½ λ ‖weights‖²``, above zero; losses are summed over pixels and edges.
    node_features : callable
        From an image to features of every pixel (H, W, k), with a constant among them:
        :func:`pixel_features` by default; :func:`texture_features` say more where objects are
        known by texture and place, and take ten times as long.
    edge_features : callable
        From an image to channels (H, W, c), :func:`pair_features` by default. An edge has the
        features 1, |Δ| and √|Δ| of each channel.

    Attributes
    ----------
    node_weights_ : numpy.ndarray
        Weights of the features of pixels.
    edge_weights_ : numpy.ndarray
        Weights of the features of edges.

    Examples
    --------
    >>> masks = [np.arange(12)[:, None] + np.arange(9) > t for t in (6, 10, 14)]
    >>> images = [mask + 0.1 * np.sin(np.arange(9)) for mask in masks]
    >>> crf = GridCRF().fit(images[:2], masks[:2])
    >>> crf.predict(images[2:])[0].shape, crf.score(images[2:], masks[2:]) > 0.9
    ((12, 9), True)
    >>> crf.get_params()["method"]
    'piecewise'
    """

    def __init__(
        self,
        method: str = "piecewise",
        *,
        regularization: float = 1.0,
        node_features: ImageFeatures | None = None,
        edge_features: ImageFeatures | None = None,
    ) -> None:
        self.method = method
        self.regularization = regularization
        self.node_features = node_features
        self.edge_features = edge_features

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are weights."""
        return hasattr(self, "node_weights_")

    def fit(self, X: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> GridCRF:
        """Learn the weights.

        Parameters
        ----------
        X : sequence of array_like, shape (H, W) or (H, W, C)
            Images of any sizes.
        y : sequence of array_like of bool, shape (H, W)
            Masks; True is the foreground, spin +1.
        """
        self.node_weights_, self.edge_weights_ = _learn(self, X, y)
        return self

    def potentials(self, image: ArrayLike) -> GridPotentials:
        """Return ``β_u`` and ``β_uv`` of an image."""
        self._require_weights()
        return self._potentials(as_image("image", image))

    def _potentials(self, x: FloatArray) -> GridPotentials:
        right, down = _edge_rows(_features(self, "edge_features", x))
        return GridPotentials(
            _features(self, "node_features", x) @ self.node_weights_,
            right @ self.edge_weights_,
            down @ self.edge_weights_,
        )

    def _require_weights(self) -> None:
        if not hasattr(self, "node_weights_"):
            msg = "this GridCRF has no weights yet: call `fit` first"
            raise NotFittedError(msg)

    def model(self, image: ArrayLike) -> IsingModel:
        """Return the Ising model of an image; spin +1 is the foreground."""
        return self.potentials(image).model

    def predict(self, X: Sequence[ArrayLike]) -> list[BoolArray]:
        """Return the most probable mask of every image."""
        from planaris.infer import ground_state

        self._require_weights()
        masks = []
        for k, image in enumerate(X):
            beta = self._potentials(as_image(f"X[{k}]", image))
            right, down = np.maximum(beta.right, 0.0), np.maximum(beta.down, 0.0)
            cut = ground_state(GridPotentials(beta.nodes, right, down).model, "graph-cut")
            masks.append((cut.spins > 0).reshape(beta.nodes.shape))
        return masks

    def score(self, X: Sequence[ArrayLike], y: Sequence[ArrayLike]) -> float:
        """Return the share of pixels labelled right."""
        X, y = as_examples(X, y)
        right = total = 0
        for k, (mask, wanted) in enumerate(zip(self.predict(X), y, strict=True)):
            truth = _as_spins(f"y[{k}]", wanted, (mask.shape[0], mask.shape[1])) > 0
            right += int((mask == truth).sum())
            total += mask.size
        return right / total if total else 1.0


def _learn(
    crf: GridCRF, X: Sequence[ArrayLike], y: Sequence[ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    require_one_of("method", crf.method, METHODS, ModelError)
    if not as_number("regularization", crf.regularization) > 0:
        msg = f"`regularization` must be above zero, got {crf.regularization}"
        raise ModelError(msg)
    X, y = as_examples(X, y, least=1)
    examples = []
    for k, (image, mask) in enumerate(zip(X, y, strict=True)):
        x = as_image(f"X[{k}]", image)
        s = _as_spins(f"y[{k}]", mask, (x.shape[0], x.shape[1]))
        nodes = _features(crf, "node_features", x)
        right, down = _edge_rows(_features(crf, "edge_features", x))
        examples.append(GridExample(nodes, right, down, s))
    if crf.method == "pseudo-likelihood":
        given = [example.given_neighbours() for example in examples]
        both = fit_logistic(given, regularization=crf.regularization)
    else:
        pixels = [example.pixels() for example in examples]
        pairs = [part for example in examples for part in example.pairs()]
        both = np.concatenate(
            [fit_logistic(part, regularization=crf.regularization) for part in (pixels, pairs)]
        )
    if crf.method == "likelihood":
        both = maximise_likelihood(examples, both, crf.regularization)
    count = examples[0].nodes.shape[-1]
    return both[:count], both[count:]


def _features(crf: GridCRF, name: str, x: FloatArray) -> FloatArray:
    """Return the features of every pixel, or the channels of which edges have features."""
    default = pixel_features if name == "node_features" else pair_features
    features = as_real(name, (getattr(crf, name) or default)(x))
    if features.ndim != 3 or features.shape[:2] != x.shape[:2]:
        height, width = x.shape[:2]
        msg = (
            f"`{name}` must return an array of shape ({height}, {width}, k) for an image of "
            f"{height} × {width} pixels, got shape {features.shape}"
        )
        raise ModelError(msg)
    if not np.isfinite(features).all():
        msg = f"`{name}` must return finite numbers, got others among {features.size}"
        raise ModelError(msg)
    return features


def _as_spins(name: str, mask: ArrayLike, shape: tuple[int, int]) -> Int8Array:
    y = as_array(name, mask)
    if y.shape != shape:
        msg = f"`{name}` must have the shape {shape} of its image, got {y.shape}"
        raise ModelError(msg)
    if y.dtype != bool and not np.isin(y, (0, 1)).all() and not np.isin(y, (-1, 1)).all():
        msg = f"`{name}` must hold False and True, 0 and 1, or -1 and 1"
        if y.dtype.kind in "iuf":
            least, most = float(y.min()), float(y.max())
            msg += f", got {least:g} to {most:g}; `mask > {least / 2 + most / 2:g}` makes a mask"
        raise ModelError(msg)
    return np.where(y > 0, 1, -1).astype(np.int8)


def _edge_rows(channels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the features of edges to the right and down: 1, |Δ|, √|Δ|."""
    found = []
    for axis in (1, 0):
        change = np.abs(np.diff(channels, axis=axis))
        one = np.ones((*change.shape[:2], 1))
        found.append(np.concatenate([one, change, np.sqrt(change)], axis=-1))
    return found[0], found[1]
