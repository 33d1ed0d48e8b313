"""Every error planaris raises on purpose.

Each is a ``ValueError`` (or the built-in that fits), names the argument, says what was needed,
what was got and what to do, and carries its evidence as attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class PlanarisError(ValueError):
    """Base of all errors raised by planaris; evidence is kept in attributes.

    Examples
    --------
    >>> import planaris as pl
    >>> try:
    ...     pl.IsingModel([(0, 0)], [1.0])
    ... except pl.PlanarisError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ModelError True
    """

    def __init__(self, message: str, **evidence: Any) -> None:
        super().__init__(message)
        self.evidence = evidence
        for name, value in evidence.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the evidence when an error crosses a process boundary."""
        return (_rebuild, (type(self), self.args[0], self.evidence))


def _rebuild(kind: type[PlanarisError], message: str, evidence: dict[str, Any]) -> PlanarisError:
    return kind(message, **evidence)


class ModelError(PlanarisError):
    """A model was stated wrongly: shapes, indices, self-loops or non-finite numbers."""


class EmbeddingError(PlanarisError):
    """A rotation system or drawing is not what it claims to be."""


class CrossingError(EmbeddingError):
    """Two edges of a drawing cross; ``edges`` holds the pair of edge indices."""

    edges: tuple[int, int]


class NotPlanarError(PlanarisError):
    """The graph is not planar; ``kuratowski_edges`` is a subdivided K5 or K3,3 as proof.

    Examples
    --------
    >>> import planaris as pl
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> try:
    ...     pl.Embedding.from_graph(k5, num_vertices=5)
    ... except NotPlanarError as error:
    ...     print(error.kind, len(error.kuratowski_edges))
    K5 10

    ``kind`` is ``"K5"`` or ``"K3,3"``. Decoders add ``instructions`` and ``mechanisms``, samplers
    for dimod ``interactions``, which are those edges in the terms of what was given.
    """

    kuratowski_edges: Any
    kind: str
    instructions: Any
    mechanisms: Any
    interactions: Any


class NotMatchableError(PlanarisError):
    """A detector error model is no graph: ``mechanisms`` flip too many detectors.

    ``instructions`` holds them as text. Also raised for an observable that winds around a hole.
    """

    mechanisms: Any
    instructions: Any


class MethodError(PlanarisError):
    """The requested method does not fit the model; ``evidence`` says why."""


class PrecisionError(MethodError):
    """Even double-double has too few digits for this model at this temperature."""


class TooLargeError(PlanarisError):
    """The work would need more memory than there is; ``bytes_needed`` says how much."""

    bytes_needed: int


class TimeLimitError(PlanarisError, TimeoutError):
    """The work did not end within ``time_limit`` seconds, and no partial answer is of use."""

    time_limit: float | None

    def __init__(self, message: str, **evidence: Any) -> None:
        PlanarisError.__init__(self, message, **evidence)


class InfeasibleError(PlanarisError):
    """A combinatorial problem has no solution; the evidence names the part at fault."""


class ImpossibleShotError(InfeasibleError):
    """No error of the model has the syndrome of ``shot``; ``detectors`` names those at fault."""

    shot: int
    detectors: Any


class FileFormatError(PlanarisError):
    r"""A file does not follow its format; ``line`` is where, counted from one.

    Examples
    --------
    >>> import io
    >>> from planaris.io import read_maxcut
    >>> try:
    ...     read_maxcut(io.StringIO("2 1\n1 1 5\n"))
    ... except FileFormatError as error:
    ...     print(error.line, error)
    2 stream, line 2: expected two different vertices ...
    """

    line: int | None


class VerificationError(PlanarisError):
    """A result or certificate does not hold what it claims."""


class MissingExtraError(PlanarisError, ImportError):
    """An optional package is needed; ``extra`` is the planaris extra that installs it."""

    def __init__(self, message: str, **evidence: Any) -> None:
        PlanarisError.__init__(self, message, **evidence)


class NotFittedError(PlanarisError, AttributeError):
    """An estimator has no weights yet: it was not fitted."""

    def __init__(self, message: str, **evidence: Any) -> None:
        PlanarisError.__init__(self, message, **evidence)


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Return the error for a missing package, with the line that installs it.

    >>> print(missing_extra(package="pillow", extra="image"))
    this needs the package 'pillow' (extra 'image' of planaris): pip install pillow
    """
    message = (
        f"this needs the package '{package}' (extra '{extra}' of planaris): pip install {package}"
    )
    return MissingExtraError(message, package=package, extra=extra)


def refuse_masked(name: str, values: Any) -> None:
    """Refuse NumPy arrays with masked entries: as a plain array they show what is under the mask.

    >>> import numpy as np
    >>> refuse_masked("couplings", np.ma.masked_invalid([1.0, np.nan]))
    Traceback (most recent call last):
    planaris.errors.ModelError: `couplings` must have no masked entries, got 1; fill them in first
    """
    from numpy.ma import MaskedArray

    masked = values.mask.sum() if isinstance(values, MaskedArray) else 0
    if masked:
        msg = f"`{name}` must have no masked entries, got {masked}; fill them in first"
        raise ModelError(msg)


@contextmanager
def naming_row(row: int, rows: int) -> Iterator[None]:
    """Add the row of couplings that lost its digits to a PrecisionError.

    >>> with naming_row(3, rows=8):
    ...     raise PrecisionError("too cold")
    Traceback (most recent call last):
    planaris.errors.PrecisionError: row 3 of `couplings`: too cold
    """
    try:
        yield
    except PrecisionError as error:
        if rows == 1:
            raise
        msg = f"row {row} of `couplings`: {error}"
        raise PrecisionError(msg, **(error.evidence | {"row": row})) from error


def require_one_of(
    name: str, given: object, allowed: Collection[Any], kind: type[PlanarisError] | None = None
) -> None:
    """Raise a MethodError, or another kind of error, unless an argument is one of a few values.

    >>> require_one_of("encoding", "unary", ("log", "order"))
    Traceback (most recent call last):
    ...
    planaris.errors.MethodError: `encoding` must be one of log, order, got 'unary'
    """
    if given not in allowed:
        msg = f"`{name}` must be one of {', '.join(map(str, allowed))}, got {given!r}"
        raise (kind or MethodError)(msg, **{name: given})
