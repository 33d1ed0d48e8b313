"""Check any result against its model: what ``planaris verify`` does.

Nothing of the solvers is used. A claim is *proved* by the result's own certificate, *recomputed*
by enumeration or plain elimination where the model is small enough, or left *unproved*; a claim
that is found false raises.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.errors import PlanarisError, VerificationError
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.result import (
    AsIsing,
    GroundState,
    LabelCycles,
    LabelTree,
    LogPartition,
    Marginals,
    NotPlanar,
    Plane,
)
from planaris.typing import Array
from planaris.verify.anew import log_partition_anew
from planaris.verify.elimination import Recomputed, recompute
from planaris.verify.embedding import check_plane
from planaris.verify.energy_bounds import BareModel
from planaris.verify.findings import CheckReport, Finding
from planaris.verify.ground_state import energy_quantum, proved_bound
from planaris.verify.kuratowski import check_kuratowski
from planaris.verify.label_bounds import label_bound, label_cycle_bound, table_sizes
from planaris.verify.marginals import check_marginals
from planaris.verify.partition_bounds import check_interval
from planaris.verify.state import check_log_partition, check_state

Model = IsingModel | MarkovRandomField

COARSEST = 1e-7
"""Rounding of a proof, relative to the energies, that is let pass."""

EXACT = 1e-5
"""Widest interval around log Z that is called exact, relative to its size."""


def check_result(model: Model, result: Any) -> CheckReport:
    """Check a result of any verb, or a proof of planarity, without the solvers.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        What was asked.
    result : GroundState, LogPartition, Marginals, Plane or NotPlanar
        What was answered; see :func:`planaris.result.load_result`.

    Returns
    -------
    CheckReport
        Its findings, one per claim.

    Raises
    ------
    VerificationError
        When some claim is false or some proof is broken.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])
    >>> report = check_result(model, pl.ground_state(model))
    >>> report.proved, [finding.claim for finding in report.findings]
    (True, ['energy', 'minimum'])
    """
    checks: dict[type, Any] = {
        GroundState: _check_ground_state,
        LogPartition: _check_log_partition,
        Marginals: check_marginals,
        Plane: _check_planarity,
        NotPlanar: _check_planarity,
    }
    if type(result) not in checks:
        msg = f"`result` must be what a verb returned, got {type(result).__name__}"
        raise VerificationError(msg)
    try:
        with np.errstate(all="ignore"):
            return CheckReport(checks[type(result)](model, result))
    except PlanarisError:
        raise
    except (ValueError, ArithmeticError) as error:
        msg = f"the numbers of the result cannot be computed with: {error}"
        raise VerificationError(msg) from error


# -- states ------------------------------------------------------------------------------------


def _check_ground_state(model: Model, result: GroundState) -> list[Finding]:
    if isinstance(model, IsingModel) and isinstance(result.certificate, LabelTree):
        model = MarkovRandomField.from_ising(model)
    if isinstance(model, IsingModel):
        proved = check_state(model, result)
        kind = _kinds(result.certificate)
    else:
        _check_labels(model, result)
        proved, kind = _check_field_bound(model, result)
    findings = [Finding("energy", "recomputed", f"{result.energy!r}")]
    claim = "minimum" if result.exact else "lower bound"
    if proved:
        return [*findings, Finding(claim, "proved", kind)]
    again = recompute(model, task="max")
    if again is None:
        why = "no proof was kept (`prove=True` asks for one), and too wide to recompute"
        return [*findings, Finding(claim, "unproved", why)]
    _require_minimum(model, result, again)
    return [*findings, Finding(claim, "recomputed", "elimination")]


def _kinds(certificate: Any) -> str:
    parts: list[Any] = certificate if isinstance(certificate, list) else [certificate]
    proofs: list[Any] = [getattr(part, "proof", part) for part in parts]
    proofs = [proof.as_proof() if hasattr(proof, "as_proof") else proof for proof in proofs]
    return ", ".join(sorted({getattr(proof, "KIND", "none") for proof in proofs}))


def _check_labels(model: MarkovRandomField, result: GroundState) -> None:
    labels = np.asarray(result.assignment)
    if labels.shape != (model.num_variables,) or labels.dtype.kind not in "iu":
        msg = (
            f"`assignment` must hold {model.num_variables} labels, got {labels.size}: the result "
            "is of another model, or of this one under other evidence"
        )
        raise VerificationError(msg, claimed=labels.shape, found=(model.num_variables,))
    if np.any((labels < 0) | (labels >= model.cardinalities)):
        msg = "`assignment` must hold labels of the variables"
        raise VerificationError(msg, claimed=labels, found=model.cardinalities)
    energy = 0.0 - math.fsum(_log_terms(model, labels))
    slack = _slack(model)
    if not (energy == result.energy or abs(energy - result.energy) <= slack):
        msg = f"`energy` is claimed to be {result.energy}, but the labels have {energy}"
        raise VerificationError(msg, claimed=result.energy, found=energy)
    if not result.lower <= result.energy == result.upper:
        msg = (
            f"`lower <= energy == upper` must hold, got {result.lower}, {result.energy}, "
            f"{result.upper}"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=energy)
    if result.exact and not result.energy - result.lower <= _room(model):
        msg = f"`exact` is claimed, but `lower` is {result.lower}"
        raise VerificationError(msg, claimed=True, found=result.upper - result.lower)


def _log_terms(model: MarkovRandomField, labels: Array) -> list[float]:
    tables = ((model.log_table(k), model.scope(k)) for k in range(model.num_factors))
    return [float(table[tuple(labels[scope])]) for table, scope in tables]


def _check_field_bound(model: MarkovRandomField, result: GroundState) -> tuple[bool, str]:
    proof, quantum, charged = result.certificate, 0.0, 0.0
    if isinstance(proof, LabelTree | LabelCycles):
        check: Any = label_bound if isinstance(proof, LabelTree) else label_cycle_bound
        found = check(model, proof)
        lower, charged, kind = found.value, 2 * found.charged, proof.KIND
        if charged > COARSEST * (_room(model) / 2e-9):  # such numbers would hide any claim
            return False, ""
    elif isinstance(proof, AsIsing):
        ising, _ = mrf2ising(model)
        bound = proved_bound(ising, proof.proof)
        if bound is None:
            return False, ""
        lower, kind, quantum = bound.value, _kinds(proof.proof), energy_quantum(ising)
    else:
        return False, ""
    claimed = result.energy if result.exact else result.lower
    between = result.exact and claimed - lower + _slack(model) < quantum  # no energy lies there
    if not (claimed <= lower + _room(model) + charged or between):  # nor if the bound is no number
        msg = f"no less than {claimed} is claimed, but the proof gives {lower}"
        raise VerificationError(msg, claimed=claimed, found=lower)
    return True, kind


def _slack(model: MarkovRandomField) -> float:
    logs = model.log_values
    size = float(np.abs(logs[np.isfinite(logs)]).sum())
    return 64 * 2.0**-53 * (size + 1.0)


def _room(model: MarkovRandomField) -> float:
    """Return the gap that exact solvers of real-valued models leave: 1e-9 of the energies."""
    varies = (np.diff(model.scope_offsets) > 0).tolist()
    largest = math.fsum(itertools.compress(table_sizes(model), varies))
    return 2e-9 * (largest + 1.0) + _slack(model) * bool(len(model.log_values))


def _require_minimum(model: Model, result: GroundState, again: Recomputed) -> None:
    minimum = -again.value
    claimed = result.energy if result.exact else result.lower
    if isinstance(model, IsingModel):
        room = 2e-9 * float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    else:
        room = _room(model)
    slack = again.slack + room + 1e-300
    if not claimed <= minimum + slack:
        msg = f"no less than {claimed} is claimed, but a state has energy {minimum}"
        raise VerificationError(msg, claimed=claimed, found=minimum)
    if not result.upper >= minimum - slack:
        msg = f"the state is claimed to have {result.upper}, but the minimum is {minimum}"
        raise VerificationError(msg, claimed=result.upper, found=minimum)


# -- log Z and marginals -------------------------------------------------------------------------


def _check_log_partition(model: Model, result: LogPartition) -> list[Finding]:
    if isinstance(model, IsingModel):
        check_log_partition(model, result)
    elif not result.lower <= result.value <= result.upper:
        msg = f"`lower <= value <= upper` must hold, got {result}"
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=result.value)
    found = log_partition_anew(model, result.certificate)
    for again in found:
        _require_log_partition(result, again)
    findings = check_interval(model, result)
    if found and not all(finding.status == "proved" for finding in findings):
        return [Finding("log Z", "recomputed", found[0].how)]
    return findings


def _require_log_partition(result: LogPartition, again: Recomputed) -> None:
    nothing = again.value == -np.inf  # no state is allowed
    low, high = (again.value + (0.0 if nothing else end * again.slack) for end in (-1, 1))
    if not (result.lower <= high and low <= result.upper):
        msg = f"log Z is claimed to lie in [{result.lower}, {result.upper}], but is {again.value}"
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=again.value)
    narrow = result.upper - result.lower <= EXACT * (1 + abs(again.value))
    if result.exact and not (result.upper == -np.inf if nothing else narrow):
        msg = f"`exact` is claimed of the interval [{result.lower}, {result.upper}]"
        raise VerificationError(msg, claimed=True, found=result.upper - result.lower)


# -- planarity -----------------------------------------------------------------------------------


def _check_planarity(model: Model, proof: Plane | NotPlanar) -> list[Finding]:
    if not isinstance(model, IsingModel):
        model, _ = mrf2ising(model)
    bare = BareModel.of(model)
    count = bare.num_vertices if model.has_fields else model.num_spins
    if isinstance(proof, NotPlanar):
        kind = check_kuratowski(count, bare.edges, proof.edges)
        return [Finding("not planar", "proved", f"a subdivision of {kind}")]
    faces = check_plane(_Rotation(count, bare.edges, proof.rotation, proof.offsets))
    return [Finding("planar", "proved", f"a rotation system with {faces} faces")]


@dataclass(frozen=True)
class _Rotation:
    num_vertices: int
    edges: Array
    rotation: Array
    offsets: Array
