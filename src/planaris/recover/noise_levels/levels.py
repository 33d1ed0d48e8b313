"""Noise levels of one kind of observation: known, one for all, or one per group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.recover.observe import as_noises
from planaris.recover.weights import log_odds_of, noise_of
from planaris.typing import ArrayLike, FloatArray, LongArray

LARGEST_WEIGHT = 8.0
"""Weights beyond this (noise below 1e-7) count as no noise at all."""


@dataclass(frozen=True, eq=False)
class Levels:
    """What is known of the noise of all edges, or of all nodes.

    Attributes
    ----------
    given : float, numpy.ndarray or None
        Noise that is known.
    groups : numpy.ndarray
        Group of every observation.
    count : int
        Number of groups.
    named : bool
        Whether groups were given, so that results have one entry per observation.
    """

    given: float | FloatArray | None
    groups: LongArray
    count: int
    named: bool

    @classmethod
    def of(
        cls, name: str, given: Any, groups_name: str, groups: ArrayLike | None, length: int
    ) -> Levels:
        """Check what was given.

        >>> Levels.of("p", None, "edge_groups", [0, 2, 2], 3).count
        2
        """
        known = None if given is None else as_noises(name, given, length)
        if groups is None:
            return cls(known, np.zeros(length, dtype=np.int64), 1, False)
        numbers = np.asarray(groups)
        if numbers.shape != (length,) or numbers.dtype.kind not in "iu":
            msg = f"`{groups_name}` must be integers of shape ({length},), got {groups!r}"
            raise ModelError(msg)
        names, place = np.unique(numbers, return_inverse=True)
        return cls(known, np.asarray(place, dtype=np.int64), max(len(names), 1), True)

    @property
    def num_free(self) -> int:
        """How many levels are to be estimated."""
        return 0 if self.given is not None else self.count

    def ungrouped(self) -> Levels:
        """Return the same with one level for all that is not known."""
        return Levels(self.given, np.zeros_like(self.groups), 1, False)

    def weights(self, free: FloatArray) -> FloatArray:
        """Return the weight of every observation, from those of the groups."""
        if self.given is None:
            return np.asarray(free[self.groups])
        known = np.minimum(np.asarray(log_odds_of(self.given)), LARGEST_WEIGHT)
        return np.broadcast_to(known, self.groups.shape).astype(np.float64)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of values over every group that is to be estimated."""
        return np.bincount(self.groups, values, self.count)[: self.num_free].astype(np.float64)

    def result(self, free: FloatArray, errors: FloatArray) -> tuple[Any, Any]:
        """Return noise and standard errors from weights of groups."""
        if self.given is not None:
            return self.given, np.zeros_like(self.given) if np.ndim(self.given) else 0.0
        edge = LARGEST_WEIGHT * (1 - 1e-6)
        noise = np.array([noise_of(w) if w < edge else 0.0 for w in free.tolist()])
        return self.spread(noise, errors)

    def spread(self, noise: FloatArray, errors: FloatArray) -> tuple[Any, Any]:
        """Return estimates of groups as one number, or one per observation; known ones as given."""
        if self.given is not None:
            return self.result(np.zeros(0), np.zeros(0))
        if not self.named:
            return float(noise[0]), float(errors[0])
        return noise[self.groups], errors[self.groups]
