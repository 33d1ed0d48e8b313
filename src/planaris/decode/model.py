"""Mechanisms of a detector error model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from planaris.budget import UNLIMITED
from planaris.errors import ModelError, NotMatchableError
from planaris.show import many

BYTES_PER_MECHANISM = 1000
MAX_UNNAMED = {"detectors": 1_000_000, "observables": 10_000}
"""How many of them a model may count and say nothing of."""


@dataclass(frozen=True)
class Mechanism:
    """One error of a detector error model: what it flips, and with what probability.

    Examples
    --------
    >>> print(Mechanism(0.01, (0, 3), (0,)))
    error(0.01) D0 D3 L0
    """

    probability: float
    detectors: tuple[int, ...]
    observables: tuple[int, ...]

    def __str__(self) -> str:
        targets = [f"D{d}" for d in self.detectors] + [f"L{k}" for k in self.observables]
        return " ".join([f"error({self.probability:.15g})", *targets])


@dataclass(frozen=True)
class ErrorModel:
    """Independent mechanisms that flip detectors and observables.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        In the order of the flattened detector error model.
    num_detectors, num_observables : int
        Sizes; more than the mechanisms name where the model declares more.
    """

    mechanisms: tuple[Mechanism, ...]
    num_detectors: int
    num_observables: int

    @classmethod
    def from_stim(cls, dem: Any, *, split: bool = False) -> ErrorModel:
        """Read a ``stim.DetectorErrorModel``.

        Parameters
        ----------
        dem : stim.DetectorErrorModel
            Repetitions and shifts are unrolled.
        split : bool
            Take the parts of a decomposed mechanism (``error(p) D0 D1 ^ D2``) as independent
            mechanisms, as matching decoders do. Otherwise only what the whole flips counts.
        """
        needed = BYTES_PER_MECHANISM * dem.num_errors
        UNLIMITED.check_memory(
            needed, f"`dem` of {dem.num_errors} mechanisms", "repeat fewer rounds"
        )
        mechanisms: list[Mechanism] = []
        for number, instruction in enumerate(dem.flattened()):
            if instruction.type != "error":
                continue
            (probability,) = instruction.args_copy()
            if not 0.0 <= probability <= 1.0:
                msg = (
                    f"instruction {number} of `dem`, {instruction}, must have a probability "
                    f"in [0, 1], got {probability}"
                )
                raise ModelError(msg, instruction=number)
            targets = instruction.targets_copy()
            parts = _parts(targets) if split else [targets]
            mechanisms += [_mechanism(probability, part) for part in parts]
        _refuse_unnamed("detectors", dem.num_detectors, [m.detectors for m in mechanisms])
        _refuse_unnamed("observables", dem.num_observables, [m.observables for m in mechanisms])
        return cls(tuple(mechanisms), dem.num_detectors, dem.num_observables)

    def wide_mechanisms(self) -> list[int]:
        """Return the mechanisms that flip more than two detectors; impossible ones do not count."""
        wide = [k for k, m in enumerate(self.mechanisms) if len(m.detectors) > 2]
        return [k for k in wide if self.mechanisms[k].probability > 0]

    def require_matchable(self, method: str = "ml") -> None:
        """Refuse mechanisms that flip more than two detectors; say which call takes them."""
        wide = self.wide_mechanisms()
        if not wide:
            return
        shown = "; ".join(str(self.mechanisms[k]) for k in wide[:3]) + ("; …" if wide[3:] else "")
        drop = 'drop="smallest" leaves them out and bounds what that changes'
        if method == "ml":
            advice = (
                'method="matching" takes the circuit itself, or a model that stim decomposed '
                f"(decompose_errors=True); {drop}"
            )
        else:
            advice = (
                "pass the circuit, or circuit.detector_error_model(decompose_errors=True), so "
                f"that stim splits them; {drop}"
            )
        msg = (
            f"`dem` must flip at most two detectors per mechanism, but "
            f"{many(len(wide), 'mechanism')} flip more (see `mechanisms`): {shown}; {advice}"
        )
        raise NotMatchableError(
            msg, mechanisms=wide, instructions=[str(self.mechanisms[k]) for k in wide]
        )

    def silent_detectors(self) -> list[int]:
        """Return the detectors that no mechanism of positive probability flips."""
        heard = {d for m in self.mechanisms if m.probability > 0 for d in m.detectors}
        return [d for d in range(self.num_detectors) if d not in heard]


def _refuse_unnamed(what: str, count: int, named: list[tuple[int, ...]]) -> None:
    """Refuse numbers so large that most of those below them mean nothing."""
    if count - sum(map(len, named)) > MAX_UNNAMED[what]:
        msg = (
            f"`dem` must have at most {MAX_UNNAMED[what]} {what} that no mechanism flips, but "
            f"numbers them up to {count - 1} and has {many(len(named), 'mechanism')}"
        )
        raise ModelError(msg)


def _parts(targets: Iterable[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for target in targets:
        if target.is_separator():
            parts.append([])
        else:
            parts[-1].append(target)
    return parts


def _mechanism(probability: float, targets: Iterable[Any]) -> Mechanism:
    """Cancel what is named twice."""
    detectors: set[int] = set()
    observables: set[int] = set()
    for target in targets:
        if target.is_relative_detector_id():
            detectors ^= {target.val}
        elif target.is_logical_observable_id():
            observables ^= {target.val}
    return Mechanism(probability, tuple(sorted(detectors)), tuple(sorted(observables)))


def parity(probabilities: Iterable[float]) -> tuple[float, float]:
    """Return the probabilities that an odd and an even number of independent events happen.

    Both have all their digits, however small they are.

    >>> parity([0.5, 0.1]), parity([1.0, 1e-300])
    ((0.5, 0.5), (1.0, 1e-300))
    """
    odd, even = 0.0, 1.0
    for p in probabilities:
        odd, even = odd * (1.0 - p) + even * p, even * (1.0 - p) + odd * p
    return odd, even
