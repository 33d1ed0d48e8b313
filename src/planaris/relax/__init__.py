"""Outer bounds on the marginal polytope: linear programs, cuts, messages, branch and cut."""

from typing import TYPE_CHECKING, Any

from planaris.relax.branching.branch_and_cut import branch_and_cut
from planaris.relax.lp.cycle_polytope import cycle_lp
from planaris.relax.lp.local_polytope import local_lp
from planaris.relax.messages.message_passing import mplp
from planaris.relax.planar_map_bound import map_bound
from planaris.relax.surfaces.search import surface_ground_state

if TYPE_CHECKING:
    from planaris.bounds.entropy.program import entropy_bound

__all__ = [
    "branch_and_cut",
    "cycle_lp",
    "entropy_bound",
    "local_lp",
    "map_bound",
    "mplp",
    "surface_ground_state",
]


def __getattr__(name: str) -> Any:
    if name == "entropy_bound":  # a bound on log Z over the polytopes of this package
        from planaris.bounds.entropy.program import entropy_bound

        return entropy_bound
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
