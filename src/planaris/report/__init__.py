"""Pictures, tables and pages of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planaris.report.plotting import plot as plot

__all__ = ["plot"]


def __getattr__(name: str) -> Any:
    if name == "plot":
        from planaris.report.plotting import plot

        return plot
    msg = f"module 'planaris.report' has no attribute {name!r}"
    raise AttributeError(msg)
