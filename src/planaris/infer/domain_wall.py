"""Domain walls: what a change of the boundary costs, and where the spins turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from planaris.budget import TimeLimit
from planaris.errors import ModelError
from planaris.infer.verbs import ground_state, verb_budget
from planaris.models import IsingModel
from planaris.models.arrays import as_array
from planaris.notebook import Shown
from planaris.result import GroundState
from planaris.typing import ArrayLike, BoolArray, Int8Array, LongArray


@dataclass(frozen=True, eq=False, repr=False)
class DomainWall(Shown):
    """The ground states of a model before and after couplings along a seam change sign.

    Attributes
    ----------
    energy : float
        Domain-wall energy: minimum after the change minus minimum before; may be negative.
    lower : float
        Lower end of an interval that contains it.
    upper : float
        Upper end of an interval that contains it.
    exact : bool
        Whether both ground states are exact.
    overlap : numpy.ndarray
        int8: +1 where a spin is the same in both states and -1 where it turned.
    edges : numpy.ndarray
        bool: edges that the wall crosses, where satisfaction changed.
    before : GroundState
        Of the model as given.
    after : GroundState
        Of the model with the seam turned.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("energy", "lower", "upper", "exact", "overlap", "edges")
    energy: float
    lower: float
    upper: float
    exact: bool
    overlap: Int8Array
    edges: BoolArray
    before: GroundState
    after: GroundState


def domain_wall(
    model: IsingModel,
    seam: ArrayLike,
    method: str = "auto",
    *,
    time_limit: TimeLimit = None,
    threads: int | None = None,
) -> DomainWall:
    """Return the domain wall that turning the couplings along a seam forces into a model.

    Turning periodic boundary conditions into antiperiodic ones is such a change; how the cost
    depends on the size decides whether order survives at low temperature.

    Parameters
    ----------
    model : IsingModel
        Without fields in most uses.
    seam : array_like
        Edges whose couplings change sign: their numbers, or one bool per edge. A pair
        ``(rows, columns)`` of ints means the edges of a lattice of that shape that join its last
        column to its first, as in :func:`planaris.generate.cylinder` and
        :func:`planaris.generate.torus`.
    method : str
        As for :func:`planaris.ground_state`.
    time_limit : float, optional
        Seconds, for both ground states together.
    threads : int, optional
        As for :func:`planaris.ground_state`.

    Examples
    --------
    >>> import planaris as pl
    >>> ring = pl.generate.cylinder(1, 6)
    >>> wall = pl.domain_wall(pl.IsingModel(ring.edges, 1.0), (1, 6))
    >>> wall.energy, wall.exact, int(wall.edges.sum())  # one broken bond
    (2.0, True, 1)
    """
    given: object = model
    if not isinstance(given, IsingModel):
        msg = f"`model` must be an IsingModel, got {type(model).__name__}"
        raise ModelError(msg)
    chosen = _seam_edges(model, seam)
    turned = model.couplings.copy()
    turned[chosen] *= -1.0
    budget = verb_budget(time_limit, None, threads, None)
    changed = model.with_couplings(turned)
    before = ground_state(model, method, time_limit=budget.share(0.5))
    after = ground_state(changed, method, time_limit=budget)
    # One sum of both energies: their difference is lost where each of them is rounded.
    energy = changed.energy_above(after.spins, model.energy_terms(before.spins))
    spins = after.spins
    if not model.has_fields and not np.array_equal(before.spins[:1], spins[:1]):
        spins = -spins
    u, v = model.edges.T
    flips = np.ones(model.num_edges)
    flips[chosen] = -1.0
    crossed = before.spins[u] * before.spins[v] != flips * spins[u] * spins[v]
    return DomainWall(
        energy,
        math.nextafter(energy - most_above(after), -math.inf),
        math.nextafter(energy + most_above(before), math.inf),
        before.exact and after.exact,
        (before.spins * spins).astype(np.int8),
        crossed & (model.couplings != 0),
        before,
        after,
    )


def most_above(found: GroundState) -> float:
    """Return by how much the energy of a state may exceed the minimum.

    The ends of a ground state are rounded energies; both may be off by half a unit.
    """
    most = found.gap + math.ulp(found.energy)
    return min(most, found.tolerance) if found.exact else most


def _seam_edges(model: IsingModel, seam: Any) -> LongArray:
    given = as_array("seam", seam)
    if isinstance(seam, tuple) and len(seam) == 2 and given.dtype.kind in "iu":
        rows, columns = seam
        if rows * columns != model.num_spins or columns < 3:
            msg = (
                f"`seam` = (rows, columns) must be the shape of a lattice of {model.num_spins} "
                f"spins with at least three columns, got {seam}"
            )
            raise ModelError(msg)
        column = np.sort(model.edges % columns, axis=1)
        found = np.flatnonzero((column[:, 0] == 0) & (column[:, 1] == columns - 1))
        if not found.size:
            msg = (
                f"`seam` = {seam}: no edge joins the last column to the first; make the lattice "
                "with planaris.generate.cylinder or torus, or give the edges of the seam"
            )
            raise ModelError(msg)
        return found
    if given.dtype.kind == "b" and given.shape == (model.num_edges,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        msg = "`seam` must be numbers of edges, one bool per edge, or a tuple (rows, columns)"
        raise ModelError(msg)
    if given.size and not 0 <= given.min() <= given.max() < model.num_edges:
        msg = f"`seam` must hold edges from 0 to {model.num_edges - 1}, got {given.tolist()[:6]}"
        raise ModelError(msg)
    return np.unique(given).astype(np.int64)
