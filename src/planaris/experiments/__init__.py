"""The figures of four papers, one module each: trials → run → plot; and many models in one call.

A module has a constant ``FIGURE``, a :class:`~planaris.experiments.figure.Figure`, and a line
below. ``docs/howto/add-a-figure.md`` is the guide.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from planaris.errors import MethodError
from planaris.experiments.figure import Figure

if TYPE_CHECKING:
    from planaris.experiments.many import solve_many as solve_many

__all__ = ["FIGURES", "load_figure", "solve_many"]

FIGURES = {
    "ring-cost": "planaris.experiments.figures.ring_cost",
    "boundary": "planaris.experiments.figures.boundary",
    "pdc": "planaris.experiments.figures.pdc",
    "marginal-accuracy": "planaris.experiments.figures.marginal_accuracy",
    "cutting-planes": "planaris.experiments.figures.cutting_planes",
    "label-bounds": "planaris.experiments.figures.label_bounds",
    "side-chains": "planaris.experiments.figures.side_chains",
    "recovery": "planaris.experiments.figures.noisy_labels.recovery",
    "label-recovery": "planaris.experiments.figures.noisy_labels.label_recovery",
    "crf-noise": "planaris.experiments.figures.noisy_labels.crf_noise",
    "decoding": "planaris.experiments.figures.quantum_codes.decoding",
}
"""Name of a figure → its module, imported when it is asked for."""


def load_figure(name: str) -> Figure:
    """Return a figure by name.

    >>> load_figure("ring-cost").paper[:25]
    'Schraudolph and Kamenetsk'
    """
    if name not in FIGURES:
        msg = f"no figure is called {name!r}; there are: {', '.join(FIGURES)}"
        raise MethodError(msg)
    figure = import_module(FIGURES[name]).FIGURE
    if not isinstance(figure, Figure) or figure.name != name:
        msg = f"{FIGURES[name]}.FIGURE must be a Figure called {name!r}, got {figure!r}"
        raise MethodError(msg)
    return figure


def __getattr__(name: str) -> Any:
    if name == "solve_many":
        from planaris.experiments.many import solve_many

        return solve_many
    msg = f"module 'planaris.experiments' has no attribute {name!r}"
    raise AttributeError(msg)
