"""What a model does along a sweep of temperatures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from planaris.notebook import curves_svg, facts_html
from planaris.show import one_line
from planaris.typing import BoolArray, FloatArray


def _nothing() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Thermodynamics:
    """What a model does at each inverse temperature β: P(s) ∝ exp(-β E(s)).

    Attributes
    ----------
    betas : numpy.ndarray
        Inverse temperatures.
    log_partition : numpy.ndarray
        log Z.
    energy : numpy.ndarray
        Mean energy ⟨E⟩; a value inside its interval where ``exact`` is False.
    entropy : numpy.ndarray
        log Z + β⟨E⟩; where that is only enclosed, the middle of its interval, which lies between
        0 and the logarithm of the number of states.
    specific_heat : numpy.ndarray
        β² Var(E) = -β² d⟨E⟩/dβ; not a number where the energy is only enclosed.
    specific_heat_error : numpy.ndarray
        Difference between the specific heats of two step widths, an estimate of the error.
    log_partition_lower : numpy.ndarray
        Lower ends of the intervals around log Z.
    log_partition_upper : numpy.ndarray
        Upper ends of the intervals around log Z.
    energy_lower : numpy.ndarray
        Lower ends of the intervals around ⟨E⟩.
    energy_upper : numpy.ndarray
        Upper ends of the intervals around ⟨E⟩.
    exact : numpy.ndarray
        Whether the method was exact, for every β.
    estimated : numpy.ndarray
        Whether all numbers are estimates (of a tensor network), for every β: the ends of the
        intervals are then stated errors and may be wrong.
    method : str
        The method, or methods.

    Examples
    --------
    >>> import planaris as pl
    >>> pair = pl.IsingModel([(0, 1)], [1.0])
    >>> sweep = pl.thermodynamics(pair, [0.0, 1.0])
    >>> sweep.energy.round(4).tolist(), sweep.specific_heat.round(4).tolist()  # -tanh β, …
    ([0.0, -0.7616], [0.0, 0.42])
    >>> sweep.temperatures.tolist()
    [inf, 1.0]
    """

    SHOWN: ClassVar[tuple[str, ...]] = (
        "betas",
        "log_partition",
        "energy",
        "entropy",
        "specific_heat",
        "specific_heat_error",
    )
    betas: FloatArray
    log_partition: FloatArray
    energy: FloatArray
    entropy: FloatArray
    specific_heat: FloatArray
    specific_heat_error: FloatArray
    log_partition_lower: FloatArray = field(default_factory=_nothing)
    log_partition_upper: FloatArray = field(default_factory=_nothing)
    energy_lower: FloatArray = field(default_factory=_nothing)
    energy_upper: FloatArray = field(default_factory=_nothing)
    exact: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    method: str = "planar"
    estimated: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __repr__(self) -> str:
        return f"{one_line(self)[:-1]}, exact={self._exact_count}, method={self.method!r})"

    @property
    def _exact_count(self) -> str:
        return f"{int(self.exact.sum())} of {len(self.betas)}"

    def __post_init__(self) -> None:
        if len(self.estimated) != len(self.betas):
            object.__setattr__(self, "estimated", np.zeros(len(self.betas), dtype=bool))

    def _repr_html_(self) -> str:
        names = ("energy", "entropy", "specific_heat")
        curves = {name.replace("_", " "): getattr(self, name) for name in names}
        facts = {
            "temperatures": ", ".join(f"{t:.4g}" for t in self.temperatures[:6])
            + (f", … ({len(self.betas)})" if len(self.betas) > 6 else ""),
            "exact": self._exact_count,
            "estimated": f"{int(self.estimated.sum())} of {len(self.betas)}",
            "method": self.method,
        }
        picture = curves_svg("temperature", self.temperatures, curves)
        return facts_html("Thermodynamics", facts, picture)

    @property
    def temperatures(self) -> FloatArray:
        """Temperatures 1 / β; infinity at β = 0."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.betas
