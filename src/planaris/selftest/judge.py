"""Whether what a saved result claims is true, judged by :mod:`planaris.selftest.rationals`.

The tolerances are those of docs/formats/certificate.md, written down once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from planaris.result import ProvedInterval
from planaris.selftest.rationals import Truth, as_fraction

NOT_RELIED_ON = ("method", "proved", "certificate")
"""Fields of which a file may say anything: see docs/formats/certificate.md."""

JUDGED = {
    "ground-state": ("exact", "energy", "lower", "upper", "tolerance", "spins", "labels"),
    "log-partition": ("exact", "value", "lower", "upper", "tolerance"),
    "marginals": (
        "exact",
        "error",
        *("nodes", "nodes_lower", "nodes_upper"),
        *("edges", "edges_lower", "edges_upper"),
    ),
    "planarity": (),
    "proof": (),
}
"""Fields that are judged, by the kind of answer."""

_UNIT = Fraction(1, 2**53)
_ROUNDED = 1 + Fraction(1, 10**11)
"""Tolerances are sums of doubles."""
_GRACE = Fraction(1, 10**11)
"""Tolerance of probabilities: 1e-12 and the rounding of a recomputation."""


def false_claim(truth: Truth, body: dict[str, Any], *, accepted: bool) -> str | None:
    """Return a claim of a result that is false, None if there is none.

    Parameters
    ----------
    truth : Truth
        What is true of the model.
    body : dict
        The body of a file.
    accepted : bool
        Whether the check left nothing unproved. Otherwise only the state is judged.

    Examples
    --------
    >>> import planaris as pl
    >>> truth = Truth(pl.IsingModel([(0, 1)], [2.0]))
    >>> body = {"answer": "log-partition", "lower": 2.7, "value": 2.7, "upper": 2.8}
    >>> body |= {"exact": False, "tolerance": 1e-6, "method": "", "proved": True}
    >>> false_claim(truth, body | {"certificate": None}, accepted=True) is None
    True
    >>> false_claim(truth, body | {"upper": 2.7, "certificate": None}, accepted=True)
    'upper'
    """
    answer = body.get("answer")
    if answer not in JUDGED:
        return "answer"
    for name in body:
        if name not in ("answer", *JUDGED[answer], *NOT_RELIED_ON):
            return f"{name}, which nobody judges"
    judges = {
        "ground-state": _ground_state,
        "log-partition": _log_partition,
        "marginals": _marginals,
        "planarity": _planarity,
        "proof": _planarity,  # alone, it claims nothing else
    }
    return next(judges[answer](truth, body, accepted), None)


def false_interval(truth: Truth, proved: ProvedInterval) -> str | None:
    """Return an end of what a proof proves that is false, None if there is none.

    Whatever a result claims: proofs that prove too much would support a false one. No tolerance is
    granted but the rounding of the ends themselves.

    Examples
    --------
    >>> import planaris as pl
    >>> truth = Truth(pl.IsingModel([(0, 1)], [2.0]))
    >>> false_interval(truth, ProvedInterval("minimum energy", -2.0)) is None
    True
    >>> false_interval(truth, ProvedInterval("minimum energy", -1.999))
    'lower end -1.999 of the minimum energy'
    """
    if truth.minimum is None:
        return None
    if proved.claim == "minimum energy":
        true: Fraction = truth.minimum
    elif proved.claim == "log Z":
        true = Fraction(truth.log_partition)
    else:
        return None
    for name, end, way in (("lower", proved.lower, 1), ("upper", proved.upper, -1)):
        none = end == -way * math.inf
        if not none and not way * (Fraction(end) - true) <= 2 * Fraction(math.ulp(end)):
            return f"{name} end {end!r} of the {proved.claim}"
    return None


def _ground_state(truth: Truth, body: dict[str, Any], accepted: bool) -> Iterator[str]:
    state = tuple(body["labels"])
    if state not in truth.energies or any(isinstance(label, bool) for label in state):
        yield "labels"
        return
    spins = [2 * label - 1 for label in state]
    if body["spins"] != spins and (truth.is_ising or body["spins"]):
        yield "spins"
    energy, terms = truth.energies[state], truth.terms(state)
    names = "energy", "lower", "upper", "tolerance"
    claimed: dict[str, Any] = {name: as_fraction(body[name]) for name in names}
    if energy is None:
        if claimed["energy"] != math.inf:
            yield "energy"
        return
    sizes = [abs(term) for term in terms if term is not None]
    whole = all(size.denominator == 1 for size in sizes) and sum(sizes) < 2**53
    rounding = Fraction(0) if whole else 2 * _UNIT * len(sizes) * sum(sizes, Fraction(0))
    if not abs(claimed["energy"] - energy) <= rounding:
        yield "energy"
    if claimed["upper"] != claimed["energy"]:
        yield "upper"
    if not accepted or truth.minimum is None:
        return
    tolerance = truth.energy_tolerance
    if not claimed["tolerance"] <= tolerance * _ROUNDED:
        yield "tolerance"
    if _misses_exact(body["exact"], claimed, tolerance):
        yield "exact"
    if body["exact"] and energy > truth.minimum + 2 * tolerance:
        yield "exact"
    if claimed["lower"] == -math.inf:
        return
    last = Fraction(math.ulp(float(claimed["lower"])))
    if not claimed["lower"] <= truth.minimum + 2 * tolerance + rounding + last:
        yield "lower"


def _log_partition(truth: Truth, body: dict[str, Any], accepted: bool) -> Iterator[str]:
    lower, value, upper, tolerance = (
        as_fraction(body[name]) for name in ("lower", "value", "upper", "tolerance")
    )
    if not lower <= value <= upper:
        yield "value"
    if not accepted:
        return
    found = as_fraction(str(truth.log_partition)) if truth.minimum is None else None
    found = Fraction(truth.log_partition) if found is None else found
    sizes = [abs(log) for f in truth.factors for log in f.table.values() if log is not None]
    grace = (1 + len(truth.cards) + sum(sizes, Fraction(0))) / 10**10
    if not lower <= found + grace:
        yield "lower"
    if not upper >= found - grace:
        yield "upper"
    if not tolerance <= Fraction(1e-6) * _ROUNDED:
        yield "tolerance"
    ends = {"lower": lower, "upper": upper, "tolerance": tolerance}
    if not _is_estimate(body) and _misses_exact(body["exact"], ends, Fraction(1e-6)):
        yield "exact"


def _is_estimate(body: dict[str, Any]) -> bool:
    """Return whether a result never counts as exact, however narrow (docs/conventions.md)."""
    return not (body["proved"] or body["exact"])


def _misses_exact(exact: bool, claimed: dict[str, Any], tolerance: Fraction) -> bool:
    """Return whether `exact` does not fit an interval; a smaller tolerance may be claimed."""
    closed = claimed["lower"] == claimed["upper"]
    width = 0 if closed else claimed["upper"] - claimed["lower"]
    return bool(width > tolerance if exact else width <= claimed["tolerance"])


def _marginals(truth: Truth, body: dict[str, Any], accepted: bool) -> Iterator[str]:
    if not accepted:
        return
    error = as_fraction(body["error"])
    if not _is_estimate(body) and body["exact"] is not bool(error <= Fraction(1e-6)):
        yield "exact"
    for name in ("nodes", "edges"):
        scopes: list[tuple[int, ...]] = [(v,) for v in range(len(truth.cards))]
        if name == "edges":
            scopes = [factor.scope for factor in truth.factors]
            if truth.is_ising:
                scopes = [scope for scope in scopes if len(scope) == 2]
        tables = {end: body[f"{name}{end}"] for end in ("", "_lower", "_upper")}
        for end, table in tables.items():
            if table is not None and len(table) != len(scopes):
                yield name + end
                return
        for k, scope in enumerate(scopes):
            found = _probabilities(truth, scope)
            for end, table in tables.items():
                if table is None:
                    continue
                given = table[k] if isinstance(table[k], list) else [table[k]]
                if len(given := list(_flat(given))) != len(found):
                    yield name + end
                    return
                for p, q in zip(given, found, strict=True):
                    below = Fraction(p) - q if end != "_upper" else q - Fraction(p)
                    wrong = abs(below) - error if end == "" else below
                    if wrong > _GRACE:
                        yield name + end


def _probabilities(truth: Truth, scope: tuple[int, ...]) -> list[Fraction]:
    """Return a table as files hold it: of spins P(+1), of their edges P(same)."""
    table = truth.marginal(scope)
    if not truth.is_ising:
        return [Fraction(p) for p in table.values()]
    if len(scope) == 1:
        return [Fraction(table[1,])]
    return [Fraction(table[0, 0]) + Fraction(table[1, 1])]


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value


def _planarity(truth: Truth, body: dict[str, Any], accepted: bool) -> Iterator[str]:
    if not accepted:
        return
    planar = body["certificate"]["kind"] == "plane"
    if planar is not truth.planar:
        yield "certificate"
