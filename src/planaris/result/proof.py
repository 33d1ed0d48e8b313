"""The protocol of all proofs: save, load, check, size."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from planaris.notebook import Shown

if TYPE_CHECKING:
    from planaris.models import IsingModel, MarkovRandomField


class ProvedInterval(NamedTuple):
    """What a proof proves of a model: an interval, infinite where nothing is proved.

    Attributes
    ----------
    claim : str
        What lies in the interval: ``"minimum energy"`` or ``"log Z"``; ``"planar"``,
        ``"not planar"`` and ``"marginals"``, which have ends of their own, are proved without one.
    lower, upper : float
        The ends.
    """

    claim: str
    lower: float = -np.inf
    upper: float = np.inf


class Proof(Shown):
    """Arrays that support a claim about a model, checked without the solver that found them.

    The kinds of proof are in :mod:`planaris.result.proofs` and :mod:`planaris.result.sums`.
    Solvers may return objects that still share arrays with them; :meth:`as_proof` gives the
    arrays alone, and every other method works on those.

    Examples
    --------
    >>> import planaris as pl
    >>> triangle = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])
    >>> proof = pl.ground_state(triangle).certificate
    >>> proof.check(triangle)
    ProvedInterval(claim='minimum energy', lower=-4.0, upper=inf)
    """

    KIND: ClassVar[str] = ""

    def as_proof(self) -> Proof:
        """Return the proof as plain arrays."""
        return self

    @property
    def size(self) -> int:
        """How many numbers it holds, those of the proofs inside it included."""
        return _count(self.as_proof())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the proof to a JSON file (docs/formats/certificate.md), whole or not at all."""
        from planaris.result.files import save_result

        save_result(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Proof:
        """Read a proof that :meth:`save` wrote, or that of a saved result.

        Raises
        ------
        FileFormatError
            When the file is damaged, or holds no proof.
        """
        from planaris.result.files import load_proof

        return load_proof(path)

    def check(self, model: IsingModel | MarkovRandomField) -> ProvedInterval:
        """Return what the proof proves of a model.

        Raises
        ------
        VerificationError
            When the proof is broken, or is not one about this model.
        """
        from planaris.verify.proofs.any_proof import check_proof

        return check_proof(model, self)


def _count(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, list | tuple):
        return sum(map(_count, value))
    if isinstance(value, Proof):
        plain: Any = value.as_proof()
        return sum(_count(getattr(plain, field.name)) for field in fields(plain))
    return 1 if isinstance(value, int | float | np.generic) else 0
