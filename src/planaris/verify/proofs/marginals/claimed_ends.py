"""Ends of marginals that a result claims, against those that its proof gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import AsIsing, BoundaryStates, Marginals, MarginalWindows
from planaris.typing import FloatArray
from planaris.verify.conversions import as_spins
from planaris.verify.findings import Finding
from planaris.verify.proof_arrays import require
from planaris.verify.proofs.marginals.label_ends import TableEnds, label_ends, tables_of_spins
from planaris.verify.proofs.marginals.neighbours import spin_ends
from planaris.verify.proofs.marginals.windows import window_ends
from planaris.verify.proofs.tensor_network.two_rows import marginal_ends

MOST_ROUNDED = 0.1
"""Largest rounding of the log weights of labels that are written as spins."""

GRACE = 1e-12
"""By how much ends may miss those of neighbours before they are called false."""


def check_proved_ends(model: IsingModel | MarkovRandomField, result: Marginals) -> Finding | None:
    """Check ends, or values and their error, against the proof of a result.

    None where it has no proof of marginals, or where nothing follows from that.
    """
    proof = result.certificate
    if isinstance(model, MarkovRandomField):
        inner = proof.proof if isinstance(proof, AsIsing) else None
        if not isinstance(inner, MarginalWindows):
            return None
        return _check_tables(result, tables_by_windows(model, inner), inner.KIND)
    if isinstance(proof, BoundaryStates):
        contracted = marginal_ends(model, proof)
        return None if contracted is None else _check_spins(result, *contracted, proof.KIND)
    if isinstance(proof, MarginalWindows):
        return _check_spins(result, *window_ends(model, proof), proof.KIND)
    return None


def check_neighbour_ends(model: IsingModel | MarkovRandomField, result: Marginals) -> Finding:
    """Check ends against what neighbours can do at most, which needs no proof."""
    how = "whatever the neighbours do"
    if isinstance(model, IsingModel):
        return _check_spins(result, *spin_ends(model), how, GRACE)
    tables = label_ends(model)
    found = _as_spins(model)
    if found is not None:  # several factors of a pair count as one
        spins, off = found
        tables = tables.meet(tables_of_spins(model, spins, spin_ends(spins), off))
    return _check_tables(result, tables, how, GRACE)


def tables_by_windows(mrf: MarkovRandomField, proof: MarginalWindows) -> TableEnds:
    """Return the ends of tables that follow from a proof about the spins of an MRF."""
    found = _as_spins(mrf)
    require(found is not None, "the model is one of two labels without zeros")
    assert found is not None, "checked"
    spins, off = found
    return tables_of_spins(mrf, spins, window_ends(spins, proof), off)


def _as_spins(mrf: MarkovRandomField) -> tuple[IsingModel, float] | None:
    """Return the spins of an MRF, and by how much their probabilities may differ from it."""
    spins = as_spins(mrf)
    if spins is None or not spins.rounding < MOST_ROUNDED:
        return None
    # Weights are off by a factor exp(±r), and so are their sums.
    return spins.model, math.expm1(2 * spins.rounding)


def _check_spins(
    result: Marginals, nodes: Any, edges: Any, how: str, grace: float = 0.0
) -> Finding:
    inside = True
    claims = (
        ("x", result.nodes, result.nodes_lower, result.nodes_upper, nodes),
        ("edge", result.edges, result.edges_lower, result.edges_upper, edges),
    )
    for name, values, lower, upper, found in claims:
        inside &= _holds(name, result.error, (values, lower, upper), found, grace)
    return Finding("marginals", "proved" if inside else "unproved", how)


def _check_tables(result: Marginals, found: TableEnds, how: str, grace: float = 0.0) -> Finding:
    inside = True
    claims = (
        ("x", result.nodes, result.nodes_lower, result.nodes_upper, found.nodes),
        ("factor", result.edges, result.edges_lower, result.edges_upper, found.factors),
    )
    for name, values, lower, upper, ends in claims:
        claimed = [None if some is None else _flat(some) for some in (values, lower, upper)]
        low, high = (_flat([pair[k] for pair in ends]) for k in (0, 1))
        inside &= _holds(name, result.error, claimed, (low, high), grace)
    return Finding("marginals", "proved" if inside else "unproved", how)


def _flat(tables: Any) -> FloatArray:
    rows = [np.asarray(table, dtype=np.float64).ravel() for table in tables]
    return np.concatenate([np.zeros(0), *rows])


def _holds(name: str, error: float, claimed: Any, found: Any, grace: float) -> bool:
    """Return whether claimed intervals hold those that were found; raise if some are apart."""
    value = np.asarray(claimed[0], dtype=np.float64)
    below, above = (
        value + way * error if end is None else np.asarray(end, dtype=np.float64)
        for way, end in zip((-1, 1), claimed[1:], strict=True)
    )
    least, most = np.maximum(below, value - error), np.minimum(above, value + error)
    low, high = found
    apart = np.flatnonzero(~((least <= high + grace) & (low - grace <= most)))
    if len(apart):
        at = int(apart[0])
        msg = (
            f"P({name} {at}) is claimed to lie in [{least[at]}, {most[at]}], but the proof "
            f"gives [{low[at]}, {high[at]}]"
        )
        raise VerificationError(msg, claimed=float(value[at]), found=float(low[at]))
    return bool(np.all((least <= low) & (high <= most)))
