"""Check the proof that a state has the lowest energy, from the model and the proof alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel
from planaris.result import GroundState, SplitProof
from planaris.typing import Array
from planaris.verify.demands import whole_numbers
from planaris.verify.energy_bounds import BareModel, EnergyBound, energy_bound
from planaris.verify.splits import split_bound


def check_certificate(model: IsingModel, result: GroundState) -> bool:
    """Raise unless every proof in ``result.certificate`` holds and supports what is claimed.

    Parameters
    ----------
    model : IsingModel
        The model that was solved.
    result : GroundState
        What the solver returned.

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
    bound = proved_bound(model, result.certificate)
    if bound is None:
        return False
    terms = energy_terms(model, result.spins)
    gap = math.fsum([*terms, *(-term for term in bound.terms)]) + bound.slack
    closed = gap <= 2 * bound.slack + bound.room or gap < energy_quantum(model)
    if result.exact and not closed:
        msg = f"the state must have the least energy, but the proof leaves a gap of {gap}"
        raise VerificationError(msg, claimed=0.0, found=gap)
    rounding = 4 * bound.slack + bound.room + 2.0**-50 * math.fsum(map(abs, terms)) + 1e-307
    if not (result.exact or result.lower <= bound.value + rounding):
        msg = f"`lower` is claimed to be {result.lower}, but the proof gives {bound.value}"
        raise VerificationError(msg, claimed=result.lower, found=bound.value)
    return True


def proved_bound(model: IsingModel, certificate: Any) -> EnergyBound | None:
    """Return the bound on the energies of a model that a certificate proves, if all of it does."""
    if certificate is None:
        return None
    if isinstance(certificate, SplitProof):
        return split_bound(model, certificate)
    bare = BareModel.of(model)
    if not isinstance(certificate, list):
        bounds = [energy_bound(bare, certificate)]
    else:
        parts: list[Any] = certificate
        used = np.concatenate([np.zeros(0, dtype=np.int64), *(part.edges for part in parts)])
        if not np.array_equal(np.sort(used), np.arange(len(bare.edges))):
            msg = f"`certificate` must cover each of the {len(bare.edges)} edges once"
            raise VerificationError(msg, part=None)
        bounds = [_part_bound(bare, number, part) for number, part in enumerate(parts)]
    if any(bound is None for bound in bounds):
        return None
    sound = [bound for bound in bounds if bound is not None]
    terms = [term for bound in sound for term in bound.terms]
    return EnergyBound(
        [*terms, -model.offset],
        math.fsum(bound.slack for bound in sound),
        math.fsum(bound.room for bound in sound),
    )


def _part_bound(bare: BareModel, number: int, part: Any) -> EnergyBound | None:
    try:
        return energy_bound(bare.restrict(whole_numbers(part.edges, "edges")), part.proof)
    except VerificationError as error:
        msg = f"part {number}: {error}"
        raise VerificationError(msg, part=number) from error


def energy_terms(model: IsingModel, spins: Array) -> list[float]:
    """Return doubles that add up to the energy of a state exactly."""
    s = np.asarray(spins, dtype=np.float64)
    pairs = model.couplings * s[model.edges[:, 0]] * s[model.edges[:, 1]]
    return [*(-pairs).tolist(), *(-model.fields * s).tolist(), -model.offset]


def energy_quantum(model: IsingModel) -> float:
    """Return a number that all differences of energies are multiples of; 0 if none is known.

    Flipping spin v changes the energy by twice the sum of ``±J`` at v, which differs from the
    sum of all J at v by even multiples of their common divisor.
    """
    bare = BareModel.of(model)
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
