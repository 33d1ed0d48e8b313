"""What both kinds of models share: temperatures, equality, pictures in notebooks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from planaris.errors import ModelError
from planaris.models.arrays import as_number


class ScaledModel:
    """Models can be multiplied by numbers and compared.

    ``factor * model`` multiplies every log weight, ``model.at(beta)`` does the same for an
    inverse temperature.
    """

    __slots__ = ()
    __array_ufunc__ = None  # numpy's scalars leave the product to __rmul__

    def _scaled(self, factor: float) -> Self:
        raise NotImplementedError

    def _content(self) -> tuple[Any, ...]:
        """Return what two equal models have in common; arrays or plain values."""
        raise NotImplementedError

    def at(self, beta: float) -> Self:
        """Return the model at inverse temperature ``beta``: P(s) ∝ exp(-beta * energy(s)).

        Parameters
        ----------
        beta : float
            Not negative. ``model.at(1 / T)`` is the model at temperature T.

        Examples
        --------
        >>> from planaris.models import IsingModel
        >>> model = IsingModel([(0, 1)], [2.0], fields=[1.0, 0.0])
        >>> model.at(0.5).couplings.tolist(), model.at(0.5).fields.tolist()
        ([1.0], [0.5, 0.0])
        """
        number = as_number("beta", beta)
        if number < 0:
            msg = f"`beta` must not be negative, got {beta!r}; `-1 * model` turns all signs"
            raise ModelError(msg)
        return self._scaled(number)

    def __mul__(self, factor: Any) -> Self:
        if isinstance(factor, bool) or not np.isscalar(factor) or isinstance(factor, str | bytes):
            return NotImplemented
        return self._scaled(as_number("factor", factor))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(
            np.array_equal(mine, its) if isinstance(mine, np.ndarray) else mine == its
            for mine, its in zip(self._content(), other._content(), strict=True)
        )

    def __hash__(self) -> int:
        # Equal numbers may differ in bits (0.0 and -0.0): only the integers are hashed.
        return hash(
            tuple(
                part.tobytes()
                for part in self._content()
                if isinstance(part, np.ndarray) and part.dtype.kind == "i"
            )
        )
