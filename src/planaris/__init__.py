"""Exact and certified inference for Ising models and Markov random fields, built on planarity.

Names are imported when they are first used, so that ``import planaris`` takes no time; the
packages below (``planaris.io``, ``planaris.bounds``, …) need no import of their own. What type
checkers see is in ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "Embedding",
    "IsingModel",
    "MarkovRandomField",
    "Plan",
    "PlanarisError",
    "domain_wall",
    "generate",
    "ground_state",
    "ground_state_entropy",
    "log_partition",
    "marginals",
    "plan",
    "plot",
    "rigid_edges",
    "sample",
    "solve_many",
    "thermodynamics",
]

_HOME = {
    "Embedding": "embed",
    "IsingModel": "models",
    "MarkovRandomField": "models",
    "Plan": "planar",
    "PlanarisError": "errors",
    "domain_wall": "infer",
    "ground_state": "infer",
    "ground_state_entropy": "infer",
    "log_partition": "infer",
    "marginals": "infer",
    "plan": "planar",
    "plot": "report",
    "rigid_edges": "infer",
    "sample": "infer",
    "solve_many": "experiments",
    "thermodynamics": "infer",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"planaris.{_HOME[name]}"), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("planaris")
    else:
        value = _package(name)
    globals()[name] = value
    return value


def _package(name: str) -> Any:
    if not name.startswith("_"):
        try:
            return import_module(f"planaris.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"planaris.{name}":
                raise
    msg = f"module 'planaris' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    from pkgutil import iter_modules

    packages = (module.name for module in iter_modules(__path__))
    return sorted({*__all__, "__version__", *(name for name in packages if name[0] != "_")})
