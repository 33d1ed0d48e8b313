"""What a proof of any kind proves of a model, without a result that claims it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planaris.errors import PlanarisError, VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import (
    AsIsing,
    BoundaryStates,
    Bounds,
    Contraction,
    CutSum,
    HeldSpin,
    LabelCycles,
    LabelSteps,
    LabelTree,
    MarginalWindows,
    NotPlanar,
    Plane,
    Proof,
    ProvedInterval,
)
from planaris.typing import Array
from planaris.verify.conversions import BareModel, as_labels, required_spins
from planaris.verify.embedding import check_plane
from planaris.verify.exactness import energy_tolerance
from planaris.verify.findings import Finding
from planaris.verify.proof_arrays import require
from planaris.verify.proofs.energy.ground_state import proved_bound
from planaris.verify.proofs.energy.label_steps import bound_by_labels
from planaris.verify.proofs.kuratowski import check_kuratowski
from planaris.verify.proofs.log_partition.partition_bounds import proved_ends
from planaris.verify.proofs.marginals.claimed_ends import tables_by_windows
from planaris.verify.proofs.marginals.windows import window_ends

Model = IsingModel | MarkovRandomField


def check_proof(model: Model, proof: Proof) -> ProvedInterval:
    """Return the interval that a proof alone supports.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        What the proof is about.
    proof : Proof
        Of any kind.

    Returns
    -------
    ProvedInterval
        Around the minimum energy or log Z. Infinite ends say that nothing is proved of them, or
        that checking it would take sums over too wide a model.

    Raises
    ------
    VerificationError
        When the proof is broken, or is not one about this model.

    Examples
    --------
    >>> import planaris as pl
    >>> k5 = pl.IsingModel([(u, v) for u in range(5) for v in range(u)], 0.5)
    >>> found = pl.bounds.trw(k5)
    >>> proved = check_proof(k5, found.certificate)
    >>> proved.claim, found.lower - 1e-9 < proved.lower < proved.upper < found.upper + 1e-9
    ('log Z', True)
    """
    try:
        with np.errstate(all="ignore"):
            return _check(model, proof.as_proof())
    except PlanarisError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        msg = f"the numbers of the proof cannot be computed with: {error}"
        raise VerificationError(msg) from error


def _check(model: Model, proof: Proof) -> ProvedInterval:
    if isinstance(proof, Plane | NotPlanar):
        return ProvedInterval(check_planarity(model, proof).claim)
    inner = proof.proof if isinstance(proof, AsIsing) else proof
    inner = None if inner is None else inner.as_proof()
    if isinstance(inner, MarginalWindows):
        if isinstance(model, IsingModel):
            window_ends(model, inner)
        else:
            tables_by_windows(model, inner)
        return ProvedInterval("marginals")
    if isinstance(inner, Bounds | BoundaryStates | Contraction | CutSum | HeldSpin):
        return ProvedInterval("log Z", *proved_ends(model, proof))
    return ProvedInterval("minimum energy", _least_energy(model, proof))


def _least_energy(model: Model, proof: Proof) -> float:
    """Return a lower bound on all energies, rounded down."""
    allowed = energy_tolerance(model) / 4
    if isinstance(proof, LabelTree | LabelSteps | LabelCycles):
        mrf = as_labels(model) if isinstance(model, IsingModel) else model
        return _rounded_down(bound_by_labels(mrf, proof, allowed).value)
    inner: Proof | None = proof
    rounding = 0.0
    if isinstance(model, MarkovRandomField):
        require(isinstance(proof, AsIsing), "the proof is about labels, or about spins for them")
        assert isinstance(proof, AsIsing), "checked"
        spins = required_spins(model)
        model, inner, rounding = spins.model, proof.proof, spins.rounding
    bound = proved_bound(model, inner, allowed)
    if bound is None:
        return -math.inf
    terms = [*bound.terms, -bound.slack, -rounding]
    if not all(map(math.isfinite, terms)):
        return bound.value
    return _rounded_down(sum(map(Fraction, terms), Fraction(0)))


def _rounded_down(value: Fraction | float) -> float:
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)


def check_planarity(model: Model, proof: Plane | NotPlanar) -> Finding:
    """Check that the graph of a model, with its bias spin, is planar, or that it is not."""
    if not isinstance(model, IsingModel):
        spins = required_spins(model)
        model = spins.model
    bare = BareModel.of(model)
    count = bare.num_vertices if model.has_fields else model.num_spins
    if isinstance(proof, NotPlanar):
        kind = check_kuratowski(count, bare.edges, proof.edges)
        return Finding("not planar", "proved", f"a subdivision of {kind}")
    faces = check_plane(_Rotation(count, bare.edges, proof.rotation, proof.offsets))
    return Finding("planar", "proved", f"a rotation system with {faces} faces")


@dataclass(frozen=True)
class _Rotation:
    num_vertices: int
    edges: Array
    rotation: Array
    offsets: Array
