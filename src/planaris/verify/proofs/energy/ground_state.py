"""Check the proof that a state has the lowest energy, from the model and the proof alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import GroundState, PartProof, SplitProof
from planaris.typing import Array
from planaris.verify.conversions import BareModel
from planaris.verify.exactness import energy_tolerance, makes_difference
from planaris.verify.proof_arrays import require, whole_numbers
from planaris.verify.proofs.energy.energy_bounds import EnergyBound, eliminated, energy_bound
from planaris.verify.proofs.energy.splits import split_bound


def check_certificate(model: IsingModel, result: GroundState, *, recompute: bool = False) -> bool:
    """Raise unless every proof in ``result.certificate`` holds and supports what is claimed.

    Parameters
    ----------
    model : IsingModel
        The model that was solved.
    result : GroundState
        What the solver returned.
    recompute : bool
        Eliminate parts that came without a proof, where they are narrow enough.

    Returns
    -------
    bool
        True when the proofs cover all edges and support the claim: that no state has less
        energy than ``lower``, or than the state itself where ``exact`` is claimed. False when
        some part of the model came without a proof.

    Raises
    ------
    VerificationError
        With the number of the part at fault as ``part``, or with ``claimed`` and ``found``.

    Examples
    --------
    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(10, np.random.default_rng(0))
    >>> check_certificate(glass, pl.ground_state(glass))
    True
    """
    require_kinds(model, result, GroundState)
    return checked_bound(model, result, recompute=recompute) is not None


def checked_bound(
    model: IsingModel, result: GroundState, *, recompute: bool = False
) -> EnergyBound | None:
    """Return the bound that supports what is claimed, as :func:`check_certificate`; None if none.

    Raises :class:`~planaris.errors.VerificationError` if it does not support the claim.
    """
    tolerance = energy_tolerance(model)
    bound = proved_bound(model, result.certificate, tolerance / 4, recompute=recompute)
    if bound is None:
        return None
    below = [-term for term in bound.terms]
    terms = energy_terms(model, np.asarray(result.assignment))
    gap, excess = (math.fsum([*some, *below]) + bound.slack for some in (terms, [result.lower]))
    quantum = energy_quantum(model)
    slip = bound.units * math.ulp(result.lower)
    said = f"the proof gives {bound.value}"
    require_lower(model, result, gap, excess - slip, said, quantum, tight=bound.tight)
    return bound


def require_kinds(model: object, result: object, kind: type) -> None:
    """Raise unless there is an Ising model with a result of this kind."""
    if not isinstance(model, IsingModel) or not isinstance(result, kind):
        got = f"{type(model).__name__} and {type(result).__name__}"
        msg = (
            f"`model` must be an IsingModel and `result` a {kind.__name__}, got {got}; "
            "`planaris.verify.check_result` takes any model and result"
        )
        raise VerificationError(msg)


def require_lower(
    model: IsingModel | MarkovRandomField,
    result: GroundState,
    gap: float,
    excess: float,
    found: str,
    quantum: float = 0.0,
    *,
    tight: bool = False,
) -> None:
    """Raise unless a bound on all energies supports what a result claims.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        The model.
    result : GroundState
        What is claimed, its state and energy checked before.
    gap, excess : float
        By how much the bound is less than the energy of the state, and than ``lower`` beyond
        the units in its last place that are granted.
    found : str
        What to say about the bound.
    quantum : float
        Energies that differ do so by this at least.
    tight : bool
        Whether no tolerance is granted: `lower` is no more than the bound.
    """
    if gap == -math.inf:
        require(result.energy == math.inf, f"{found}, and the energy is {result.energy}")
        return  # no state is allowed, and nothing is claimed to be more than infinite
    allowed = result.energy < math.inf
    if allowed and result.lower <= result.energy and not makes_difference(model):
        return  # all states that are allowed have one energy
    exactness = energy_tolerance(model)
    tolerance = 0.0 if tight else exactness
    closed = gap < quantum or gap <= 2 * tolerance  # no energy lies between
    below = excess <= gap + math.ulp(result.lower)  # `lower` is no more than the state's energy
    if closed and below and result.lower <= result.energy:
        return
    # An open gap that counts as none: on surfaces, and where time is over, matchings leave some.
    narrow = excess <= 0.0 and gap <= 2 * exactness
    if result.exact and not narrow:
        msg = f"no less than {result.energy} is claimed, but {found}: a gap of {gap}"
        raise VerificationError(msg, claimed=0.0, found=gap)
    if not excess <= tolerance:
        msg = f"`lower` is claimed to be {result.lower}, but {found}"
        raise VerificationError(msg, claimed=result.lower, found=excess)


def beyond(terms: list[float], lowest: Fraction | float) -> float:
    """Return by how much a sum exceeds a number, without rounding before the end.

    >>> beyond([1e17, 1.0], Fraction(10**17))
    1.0
    """
    if lowest == math.inf or -math.inf in terms:  # no state is allowed, or nothing is claimed
        return -math.inf
    if math.inf in terms or not math.isfinite(lowest):
        return math.inf
    return float(sum(map(Fraction, terms), Fraction(0)) - Fraction(lowest))


def proved_bound(
    model: IsingModel, certificate: Any, allowed: float, *, recompute: bool = False
) -> EnergyBound | None:
    """Return the bound on the energies of a model that a certificate proves, if all of it does.

    Where rounding would cost more than ``allowed``, proofs are evaluated in rational numbers. With
    ``recompute`` narrow parts need no proof.
    """
    if certificate is None:
        return None
    if isinstance(certificate, SplitProof):
        return split_bound(model, certificate, allowed)
    bare = BareModel.of(model)
    if not isinstance(certificate, list):
        bounds = [energy_bound(bare, certificate, allowed)]
    else:
        parts: list[Any] = certificate
        require(all(isinstance(part, PartProof) for part in parts), "a list holds proofs of parts")
        used = np.concatenate([np.zeros(0, dtype=np.int64), *(part.edges for part in parts)])
        if not np.array_equal(np.sort(used), np.arange(len(bare.edges))):
            msg = f"`certificate` must cover each of the {len(bare.edges)} edges once"
            raise VerificationError(msg, part=None)
        share = allowed / max(len(parts), 1)
        bounds = [
            _part_bound(bare, number, part, share, recompute) for number, part in enumerate(parts)
        ]
    if any(bound is None for bound in bounds):
        return None
    sound = [bound for bound in bounds if bound is not None]
    terms = [term for bound in sound for term in bound.terms]
    return EnergyBound(
        [*terms, -model.offset],
        math.fsum(bound.slack for bound in sound),
        all(bound.tight for bound in sound),
        max((bound.units for bound in sound), default=1),
        any(bound.recomputed for bound in sound),
    )


def _part_bound(
    bare: BareModel, number: int, part: Any, allowed: float, recompute: bool
) -> EnergyBound | None:
    try:
        chosen = bare.restrict(whole_numbers(part.edges, "edges"))
        found = energy_bound(chosen, part.proof, allowed)
        if part.proof is None and recompute:
            found = eliminated(chosen, allowed)
        if found is not None:
            excess = math.fsum([part.lower, *(-term for term in found.terms)]) + found.slack
            quantum = energy_quantum(chosen)
            slip = found.units * math.ulp(part.lower)
            if excess <= 4 * allowed + slip:
                return found
            level = quantum > 0 and _is_level(chosen, part.lower, quantum) and excess < quantum
            require(level, f"{part.lower} is proved, but there is a gap of {excess}")
            # Energies of the part differ from `lower` by multiples of the quantum; those of all
            # parts together may lie closer.
            return replace(found, terms=[part.lower], slack=0.0)
        return found
    except VerificationError as error:
        msg = f"part {number}: {error}"
        raise VerificationError(msg, part=number) from error


def _is_level(model: BareModel, energy: float, quantum: float) -> bool:
    """Return True if an energy differs from that of all spins up by a multiple of a quantum."""
    terms = [energy, *model.couplings.tolist()]
    total = math.fsum(terms)
    return math.fsum([*terms, -total]) == 0 and total % quantum == 0


def energy_terms(model: IsingModel | MarkovRandomField, labels: Array) -> list[float]:
    """Return doubles that add up to the energy of a state exactly."""
    if isinstance(model, MarkovRandomField):
        tables = ((model.log_table(k), model.scope(k)) for k in range(model.num_factors))
        return [-float(table[tuple(labels[scope])]) for table, scope in tables]
    s = 2.0 * labels - 1.0
    pairs = model.couplings * s[model.edges[:, 0]] * s[model.edges[:, 1]]
    return [*(-pairs).tolist(), *(-model.fields * s).tolist(), -model.offset]


def energy_quantum(model: IsingModel | BareModel) -> float:
    """Return a number that all differences of energies are multiples of; 0 if none is known.

    Flipping spin v changes the energy by twice the sum of ``±J`` at v, which differs from the
    sum of all J at v by even multiples of their common divisor.
    """
    bare = BareModel.of(model) if isinstance(model, IsingModel) else model
    used = bare.couplings[bare.couplings != 0]
    if len(used) == 0:
        return 0.0
    mantissa, exponent = np.frexp(used)
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    _, zeros = np.frexp((digits & -digits).astype(np.float64))  # one more than digits end on
    unit = math.ldexp(1.0, int((exponent - 54 + zeros).min()))  # of the lowest digit of all
    if unit == 0.0 or float(np.abs(used).max()) / unit >= 2.0**40:
        return 0.0
    numbers = np.rint(bare.couplings / unit).astype(np.int64)
    sums = np.zeros(bare.num_vertices, dtype=np.int64)
    np.add.at(sums, bare.edges.ravel(), np.repeat(numbers, 2))
    step = int(np.gcd.reduce(np.append(np.abs(sums), 2 * np.gcd.reduce(np.abs(numbers)))))
    return 2.0 * unit * step
