"""Planar conditional random fields in the form of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from planaris.budget import ProgressOption, watch
from planaris.errors import ModelError, NotFittedError
from planaris.gpu.device import find_device
from planaris.learn.instances import Instance, as_examples, graph_instance, image_instance
from planaris.learn.optimize import (
    Training,
    minimise_by_bundle,
    minimise_by_subgradient,
    minimise_smooth,
)
from planaris.learn.parameters import Parameters
from planaris.learn.risks import Example, Risk, likelihood, margin, run_parallel
from planaris.learn.tied import TiedGraph
from planaris.models.arrays import as_array, as_number, as_rng
from planaris.typing import Array, FloatArray, Int8Array

LOSSES = {"likelihood": likelihood, "margin": margin}
DECISIONS = ("map", "edges", "pixels")
OPTIMIZERS = {
    "lbfgs": minimise_smooth,
    "bundle": minimise_by_bundle,
    "subgradient": minimise_by_subgradient,
}
MAX_GRAPHS = 64
"""Prepared graphs that a CRF keeps; one per shape of image."""


class PlanarCRF(Parameters):
    """A planar Ising model whose disagreement costs are linear in features of the data.

    ``E(y | x) = Σ [y_i ≠ y_j] ⟨features_ij(x), weights⟩`` with P(y | x) ∝ exp(-E), exact
    throughout: training by maximum likelihood (marginals by Pfaffians) or maximum margin (worst
    violators by matching), prediction by ground states, marginals or samples.

    Parameters
    ----------
    loss : {"likelihood", "margin"}
        SK08 eq. 13 or eq. 14.
    regularization : float
        ``λ`` of ``½ λ ‖weights‖²``, above zero; losses are summed over images.
    features : sequence of str or callable
        Features of the edges of images, see :func:`planaris.learn.edge_features`.
    groups : {"tied", "direction"}
        For images: one set of weights, or one for each direction.
    peg : {"corners"}, optional
        For images: top left and bottom right pixel differ. Holds in every state.
    fields : {"border"}, optional
        For images: pixels at the border are in a field.
    margin : float
        ``v_ij`` of all edges, for the margin loss; an :class:`Instance` may have its own.
    decision : {"map", "edges", "pixels"}
        What ``predict`` returns: a most probable state; the state with fewest wrong edges to be
        expected; or the more probable label of every pixel (from samples).
    num_samples : int
        Exact samples for pixel probabilities; their standard error is at most
        ``0.5 / sqrt(num_samples)``.
    optimizer : {"lbfgs", "bundle", "subgradient"}, optional
        Default: L-BFGS for likelihood, bundle for margin.
    tol : float
        Stop when the optimality gap is at most this, relative to the objective if above one.
    max_iter : int
        Evaluations of the objective.
    n_jobs : int, optional
        Images at a time, by joblib.
    random_state : int
        Seed of the samples.
    device : str or torch.device, optional
        ``"cuda"``: marginals of all images of one shape are computed at once on a GPU.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Weights of the edge features, then of the fields.
    training_ : Training
        Objective, lower bound, gap and history.
    classes_ : numpy.ndarray
        The two labels.

    Notes
    -----
    Data are lists. An element of ``X`` is an image (H, W) or (H, W, C), a pair of a graph and a
    feature array (m, k), or an :class:`Instance`; an element of ``y`` are its labels, shaped like
    the image or (n,). Without fields a state and its flip are equally probable: predictions
    give the first pixel the first class, and ``score`` counts up to a flip.

    Examples
    --------
    >>> from planaris.generate import noisy_mask, shape_mask
    >>> rng = np.random.default_rng(0)
    >>> masks = [shape_mask((20, 24), rng, split_corners=True) for _ in range(3)]
    >>> images = [noisy_mask(mask, 2.0, rng) for mask in masks]
    >>> crf = PlanarCRF("margin", peg="corners").fit(images[:2], masks[:2])
    >>> crf.predict(images[2:])[0].shape, crf.score(images[2:], masks[2:]) > 0.95
    ((20, 24), True)
    """

    def __init__(
        self,
        loss: str = "likelihood",
        *,
        regularization: float = 1.0,
        features: Sequence[Any] = ("bias", "difference"),
        groups: str = "tied",
        peg: str | None = None,
        fields: str | None = None,
        margin: float = 1.0,
        decision: str = "map",
        num_samples: int = 100,
        optimizer: str | None = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: int = 0,
        device: Any = None,
        progress: ProgressOption = None,
    ) -> None:
        self.loss = loss
        self.regularization = regularization
        self.features = features
        self.groups = groups
        self.peg = peg
        self.fields = fields
        self.margin = margin
        self.decision = decision
        self.num_samples = num_samples
        self.optimizer = optimizer
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device
        self.progress = progress

    # -- what scikit-learn calls --------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are weights."""
        return hasattr(self, "coef_")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_graphs"}

    # -- training -----------------------------------------------------------------------------

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> PlanarCRF:
        """Learn the weights.

        Parameters
        ----------
        X : sequence
            Images, pairs (graph, features) or instances, of any sizes.
        y : sequence
            Labels of each; two values.
        """
        self._check_parameters()
        if self.device is not None:
            find_device(self.device)
        X, y = as_examples(X, y, least=1)
        instances = self._instances(X)
        self.classes_ = _two_classes(y)
        examples = [
            self._example(k, instance, labels)
            for k, (instance, labels) in enumerate(zip(instances, y, strict=True))
        ]
        widths = sorted({example.features.shape[1] for example in examples})
        if len(widths) > 1:
            msg = f"`X` must have the same features everywhere, got {widths} columns"
            raise ModelError(msg)
        risk = Risk(LOSSES[self.loss], examples, self.n_jobs)
        name = self.optimizer or ("lbfgs" if self.loss == "likelihood" else "bundle")
        with watch(f"training ({self.loss})", self.progress) as callback:
            self.training_: Training = OPTIMIZERS[name](
                risk,
                np.zeros(widths[0]),
                float(self.regularization),
                tol=self.tol,
                max_iter=self.max_iter,
                progress=callback,
            )
        self.coef_ = self.training_.weights
        self.n_features_in_ = len(self.coef_)
        return self

    def _check_parameters(self) -> None:
        for name, value, known in (
            ("loss", self.loss, tuple(LOSSES)),
            ("decision", self.decision, DECISIONS),
            ("optimizer", self.optimizer, (None, *OPTIMIZERS)),
        ):
            if value not in known:
                msg = f"`{name}` must be one of {', '.join(map(str, known))}, got {value!r}"
                raise ModelError(msg)
        if self.loss == "margin" and self.optimizer == "lbfgs":
            msg = "`optimizer='lbfgs'` needs a smooth loss; use 'bundle' for the margin"
            raise ModelError(msg)
        for name in ("regularization", "max_iter", "num_samples"):
            value = getattr(self, name)
            if not as_number(name, value) > 0:
                msg = f"`{name}` must be above zero and finite, got {value}"
                raise ModelError(msg)

    def _example(self, k: int, instance: Instance, labels: Any) -> Example:
        spins = self._as_spins(f"y[{k}]", labels, instance)
        graph = self._graph(instance)
        if not graph.keeps_ties(spins):
            msg = (
                f"`y[{k}]` must keep the ties: "
                + ("opposite corners must have different labels" if self.peg else "tied spins")
                + "; such labels have probability zero"
            )
            raise ModelError(msg, index=k)
        v = instance.margin
        v = np.full(instance.num_edges, float(self.margin)) if v is None else v
        if not np.all(np.isfinite(v) & (v >= 0)):
            msg = f"`margin` must be finite and not negative, at X[{k}] it is not"
            raise ModelError(msg)
        return Example(graph, instance.all_features(), spins, v)

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Sequence[Any]) -> list[Array]:
        """Return the labels of each element, of a shape seen in training or not."""
        if self.decision == "pixels":
            second = self.predict_proba(X)
            return [self.classes_[(p > 0.5).astype(int)] for p in second]
        return self._each(X, self._predict)

    def _predict(self, instance: Instance, costs: FloatArray, threads: int | None) -> Array:
        graph = self._graph(instance)
        if self.decision == "edges":
            apart, _ = graph.marginals(costs / 2, threads=threads)
            # Cutting an edge is wrong with probability 1 - P(cut), not cutting it with P(cut).
            costs = 1.0 - 2.0 * apart
        state = _standard(graph.ground_state(costs / 2), instance)
        return np.asarray(self.classes_[(state > 0).astype(int)].reshape(instance.shape))

    def predict_proba(self, X: Sequence[Any]) -> list[FloatArray]:
        """Return the probability of the second class, for each spin.

        Without fields: given that the first spin has the first class. Means of ``num_samples``
        exact samples.
        """
        return self._each(X, self._probabilities)

    def _probabilities(
        self, instance: Instance, costs: FloatArray, threads: int | None
    ) -> FloatArray:
        rng = as_rng(self.random_state)
        graph = self._graph(instance)
        states = graph.sample(costs / 2, int(self.num_samples), rng, threads=threads)
        return np.asarray((_standard(states, instance) > 0).mean(axis=0).reshape(instance.shape))

    def predict_boundary(self, X: Sequence[Any]) -> list[FloatArray]:
        """Return P(s_u ≠ s_v) of every edge (then of every field), exact.

        For images: edges to the right, row by row, then edges down.
        """
        return self._each(X, self._boundary)

    def _boundary(self, instance: Instance, costs: FloatArray, threads: int | None) -> FloatArray:
        return self._graph(instance).marginals(costs / 2, threads=threads)[0]

    def costs(self, X: Sequence[Any]) -> list[FloatArray]:
        """Return the disagreement costs of every edge (then of every field)."""
        return self._each(X, lambda instance, costs, threads: costs)

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Return the share of spins labelled right, up to a flip where there is no field."""
        X, y = as_examples(X, y)
        right = total = 0
        for k, (instance, state) in enumerate(
            zip(self._instances(X), self.predict(X), strict=True)
        ):
            wanted = self._as_spins(f"y[{k}]", y[k], instance)[: instance.num_spins]
            agree = int(np.sum((state.ravel() == self.classes_[1]) == (wanted > 0)))
            n = instance.num_spins
            right += agree if instance.has_fields else max(agree, n - agree)
            total += n
        return right / total if total else 1.0

    def _each(self, X: Sequence[Any], function: Any) -> list[Any]:
        if not hasattr(self, "coef_"):
            msg = "this PlanarCRF has no weights yet: call `fit` or `PlanarCRF.load` first"
            raise NotFittedError(msg)
        calls = []
        for k, instance in enumerate(self._instances(X)):
            features = instance.all_features()
            if features.shape[1] != len(self.coef_):
                msg = (
                    f"`X[{k}]` must have the {len(self.coef_)} features of the training data, "
                    f"got {features.shape[1]}"
                )
                raise ModelError(msg)
            calls.append((instance, features @ self.coef_))
        return run_parallel(function, calls, self.n_jobs) if calls else []

    # -- graphs, labels -----------------------------------------------------------------------

    def _instances(self, X: Sequence[Any]) -> list[Instance]:
        return [self._instance(f"X[{k}]", x) for k, x in enumerate(X)]

    def _instance(self, name: str, x: Any) -> Instance:
        if isinstance(x, Instance):
            return x
        if isinstance(x, tuple):
            return graph_instance(*x)
        return image_instance(
            x,
            features=self.features,
            groups=self.groups,
            peg=self.peg,
            fields=self.fields,
            name=name,
        )

    def _graph(self, instance: Instance) -> TiedGraph:
        """Return the prepared graph: one per shape."""
        graphs: dict[Any, TiedGraph] = self.__dict__.setdefault("_graphs", {})
        key = instance.key()
        if key not in graphs:
            if len(graphs) >= MAX_GRAPHS:
                graphs.pop(next(iter(graphs)))
            graphs[key] = instance.graph()
        graphs[key].device = self.device
        return graphs[key]

    def _as_spins(self, name: str, labels: Any, instance: Instance) -> Int8Array:
        """Return ±1 per spin, then +1 for the bias spin if there is one."""
        y = as_array(name, labels)
        if y.shape != instance.shape:
            msg = f"`{name}` must have shape {instance.shape}, got {y.shape}"
            raise ModelError(msg)
        if not np.isin(y, self.classes_).all():
            msg = f"`{name}` must hold the labels {self.classes_.tolist()} only"
            raise ModelError(msg)
        spins = np.where(y.ravel() == self.classes_[1], 1, -1).astype(np.int8)
        return np.append(spins, np.int8(1)) if instance.has_fields else spins

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and weights to an ``.npz`` file that holds numbers and text only."""
        from planaris.learn.files import save_crf

        save_crf(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PlanarCRF:
        """Read what :meth:`save` wrote; nothing in the file is run."""
        from planaris.learn.files import load_crf

        return load_crf(cls, path)


def _standard(states: Int8Array, instance: Instance) -> Int8Array:
    """Fix the global sign: the bias spin at +1, or the first spin at -1."""
    if instance.has_fields:
        return states[..., :-1] * states[..., -1:]
    return -states * states[..., :1] if instance.num_spins else states


def _two_classes(y: Sequence[Any]) -> Array:
    try:
        found = np.unique(np.concatenate([np.unique(as_array("y", labels)) for labels in y]))
    except TypeError as error:  # labels that have no order, such as None
        msg = f"`y` must hold two labels that can be compared: {error}"
        raise ModelError(msg) from None
    if len(found) > 2:
        msg = f"`y` must hold two labels, got {len(found)}: {found[:5].tolist()}"
        raise ModelError(msg)
    if len(found) == 2:
        return found
    # One label, or none: complete it in the way it looks to be meant.
    pairs = {(-1,): [-1, 1], (0,): [0, 1], (1,): [0, 1], (): [0, 1]}
    only = tuple(found.tolist())
    return np.array(pairs.get(only, [0, *only]), dtype=found.dtype if len(found) else int)
