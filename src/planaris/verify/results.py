"""Check any result against its model: what ``planaris verify`` does.

Nothing of the solvers is used. A claim is *proved* by the result's own certificate, *recomputed*
by enumeration or plain elimination where the model is small enough, or left *unproved*; a claim
that is found false raises.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

from planaris.errors import PlanarisError, VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import (
    AsIsing,
    GroundState,
    LabelCycles,
    LabelSteps,
    LabelTree,
    LogPartition,
    Marginals,
    NotPlanar,
    Plane,
    Proof,
)
from planaris.verify.claims import (
    MAX_ENUMERATED,
    check_log_partition,
    check_minimum,
    check_state,
    require_order,
)
from planaris.verify.conversions import as_labels, required_spins
from planaris.verify.exactness import energy_tolerance, log_partition_tolerance
from planaris.verify.findings import TOO_LARGE, CheckReport, Finding, Status
from planaris.verify.marginals import check_marginals
from planaris.verify.proofs.any_proof import check_planarity
from planaris.verify.proofs.energy.energy_bounds import EnergyBound
from planaris.verify.proofs.energy.ground_state import (
    beyond,
    checked_bound,
    energy_quantum,
    energy_terms,
    proved_bound,
    require_lower,
)
from planaris.verify.proofs.energy.label_steps import bound_by_labels
from planaris.verify.proofs.log_partition.partition_bounds import check_interval
from planaris.verify.recompute.elimination import Recomputed, least_energy
from planaris.verify.recompute.log_partition import log_partition_anew

Model = IsingModel | MarkovRandomField


def check_result(model: Model, result: Any, *, recompute: bool = True) -> CheckReport:
    """Check a result of any verb, or a proof of planarity, without the solvers.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        What was asked.
    result : GroundState, LogPartition, Marginals, Plane or NotPlanar
        What was answered; see :func:`planaris.result.load_result`.
    recompute : bool
        Compute again what comes without a proof, where the model is small enough. Otherwise
        nothing but the proof speaks for a claim.

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
    if not isinstance(cast(Any, model), IsingModel | MarkovRandomField):
        msg = f"`model` must be an IsingModel or a MarkovRandomField, got {type(model).__name__}"
        raise VerificationError(msg)
    if type(result) not in checks:
        msg = f"`result` must be what a verb returned, got {type(result).__name__}"
        raise VerificationError(msg)
    try:
        with np.errstate(all="ignore"):
            return CheckReport(checks[type(result)](model, result, recompute))
    except PlanarisError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        msg = f"the numbers of the result cannot be computed with: {error}"
        raise VerificationError(msg) from error


# -- states ------------------------------------------------------------------------------------


def _check_ground_state(model: Model, result: GroundState, recompute: bool) -> list[Finding]:
    check_state(model, result)
    findings = [Finding("energy", "recomputed", f"{result.energy!r}")]
    claim = "minimum" if result.exact else "lower bound"
    status, kinds = _check_bound(model, result, recompute)
    count = model.num_spins if isinstance(model, IsingModel) else model.num_variables
    search = recompute and (status == "unproved" or count <= MAX_ENUMERATED)
    again = search and check_minimum(model, result)
    if status != "unproved":
        findings.append(Finding(claim, status, kinds))
    elif again:
        findings.append(Finding(claim, "recomputed", "elimination"))
    elif result.lower == -math.inf:
        findings.append(Finding(claim, "proved", "nothing is claimed"))
    else:
        why = f"no proof was kept (`prove=True` asks for one), and {TOO_LARGE}"
        findings.append(Finding(claim, "unproved", why))
    if result.certain is not None:
        findings.append(_check_certain(model, result, recompute))
    return findings


def _check_certain(model: Model, result: GroundState, recompute: bool) -> Finding:
    """Check that some state of least energy agrees with all spins that are called certain."""
    certain = np.asarray(result.certain)
    if certain.shape != result.assignment.shape or certain.dtype != bool:
        msg = "`certain` must say of every spin whether it is"
        raise VerificationError(msg, claimed=certain.shape, found=result.assignment.shape)
    if not certain.any():
        return Finding("certain spins", "proved", "none is claimed")
    allowed = energy_tolerance(model)
    held = {v: int(result.assignment[v]) for v in np.flatnonzero(certain).tolist()}
    least = least_energy(model, allowed) if recompute else None
    among = None if least is None else least_energy(model, allowed, held=held)
    if least is None or among is None:
        return Finding("certain spins", "unproved", TOO_LARGE)
    if least < math.inf and least + Fraction(2 * allowed) < among:
        msg = f"no state with the certain spins has less than {among}, but another has {least}"
        raise VerificationError(msg, claimed=among, found=least)
    return Finding("certain spins", "recomputed", "elimination")


def _kinds(certificate: Any) -> str:
    parts: list[Any] = certificate if isinstance(certificate, list) else [certificate]
    proofs: list[Any] = [getattr(part, "proof", part) for part in parts]
    return ", ".join(sorted({_kind(proof) for proof in proofs}))


def _kind(proof: Any) -> str:
    if isinstance(proof, Proof) and not proof.KIND:  # its arrays know
        proof = proof.as_proof()
    kind: str = getattr(proof, "KIND", "elimination")  # of a part without a proof
    return kind


def _check_bound(model: Model, result: GroundState, recompute: bool) -> tuple[Status, str]:
    """Return whether the certificate proves the lower end, and the kinds of its proofs.

    With ``recompute`` parts without a proof are eliminated, where they are narrow enough.
    """
    proof = result.certificate
    if isinstance(model, IsingModel):
        if not isinstance(proof, LabelTree):
            bound = checked_bound(model, result, recompute=recompute)
            return _status(bound), _kinds(proof)
        return _check_labels_bound(as_labels(model), result, model), proof.KIND
    if isinstance(proof, LabelTree | LabelSteps | LabelCycles):
        return _check_labels_bound(model, result, model), proof.KIND
    if not isinstance(proof, AsIsing):
        return "unproved", ""
    spins = required_spins(model)
    allowed = energy_tolerance(model) / 4
    bound = proved_bound(spins.model, proof.proof, allowed, recompute=recompute)
    if bound is not None:
        slack = Fraction(bound.slack) + Fraction(spins.rounding)
        lowest = sum(map(Fraction, bound.terms), Fraction(0)) - slack
        quantum = energy_quantum(spins.model) if spins.rounding == 0 else 0.0
        terms = energy_terms(model, result.assignment)
        _require_bound(model, result, terms, lowest, quantum, units=bound.units)
    return _status(bound), _kinds(proof.proof)


def _status(bound: EnergyBound | None) -> Status:
    if bound is None:
        return "unproved"
    return "recomputed" if bound.recomputed else "proved"


def _check_labels_bound(labels: MarkovRandomField, result: GroundState, model: Model) -> Status:
    """Check a bound on a model as one of labels, whose tables may span more than its couplings."""
    found = bound_by_labels(labels, result.certificate, energy_tolerance(model) / 4)
    _require_bound(model, result, energy_terms(labels, result.assignment), found.value)
    return "proved"


def _require_bound(
    model: Model,
    result: GroundState,
    terms: list[float],
    lowest: Fraction | float,
    quantum: float = 0.0,
    *,
    units: int = 1,
) -> None:
    """Raise unless a bound on all energies supports what the result claims."""
    gap, excess = beyond(terms, lowest), beyond([result.lower], lowest)
    excess -= units * math.ulp(result.lower)
    require_lower(model, result, gap, excess, f"the proof gives {float(lowest)}", quantum)


# -- log Z and marginals -------------------------------------------------------------------------


def _check_log_partition(model: Model, result: LogPartition, recompute: bool) -> list[Finding]:
    require_order(model, result)
    if isinstance(model, IsingModel) and recompute:
        check_log_partition(model, result)
    found = log_partition_anew(model, result.certificate) if recompute else []
    sure = [again for again in found if _is_inside(model, result, again)]
    findings = check_interval(model, result)
    if sure and not all(finding.status == "proved" for finding in findings):
        return [Finding("log Z", "recomputed", sure[0].how)]
    return findings


def _is_inside(model: Model, result: LogPartition, again: Recomputed) -> bool:
    """Raise if log Z is not in the interval; return False if it is not known well enough."""
    nothing = again.value == -math.inf  # no state is allowed
    low, high = (again.value + (0.0 if nothing else end * again.slack) for end in (-1, 1))
    if not (result.lower <= high and low <= result.upper):
        msg = f"log Z is claimed to lie in [{result.lower}, {result.upper}], but is {again.value}"
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=again.value)
    inside = result.lower <= low and high <= result.upper
    return nothing or inside or again.slack <= log_partition_tolerance(model)


def _check_planarity(model: Model, proof: Plane | NotPlanar, recompute: bool) -> list[Finding]:
    return [check_planarity(model, proof)]
