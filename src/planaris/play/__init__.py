"""A local page to look at models: ``planaris play``."""

from planaris.play.server import PlayServer

__all__ = ["PlayServer"]
