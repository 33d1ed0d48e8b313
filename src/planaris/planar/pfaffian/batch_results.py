"""Results of batches of coupling vectors: sequences, with arrays of what all rows have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from planaris.result import GroundState, LogPartition, Marginals
from planaris.typing import BoolArray, FloatArray, Int8Array

T = TypeVar("T", bound=LogPartition | Marginals | GroundState)


class _Results(Sequence[T], Generic[T]):
    """Results of a batch; each is made when it is asked for."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: Any) -> Any:
        """Return one result, or a list of some."""
        if isinstance(index, slice):
            return [self._make(k) for k in range(*index.indices(self._length))]
        k = index + self._length if index < 0 else index
        if not 0 <= k < self._length:
            msg = f"the batch has {self._length} rows, there is no row {index}"
            raise IndexError(msg)
        return self._make(k)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._length} rows)"


class LogPartitions(_Results[LogPartition]):
    """log Z of every row of a batch: a sequence of :class:`~planaris.LogPartition`.

    Attributes
    ----------
    values, lower, upper : numpy.ndarray
        The values and the ends of their intervals, one per row.
    exact : numpy.ndarray
        Whether the interval of the row is so narrow that it counts as exact.
    proved : numpy.ndarray
        Whether the interval of the row is proved; else it is an estimate.

    Examples
    --------
    >>> import planaris as pl
    >>> plan = pl.plan((2, [(0, 1)]))
    >>> found = plan.log_partition([[0.0], [1.0]])
    >>> found.values.round(6).tolist(), found[1].exact
    ([1.386294, 1.820075], True)
    >>> plan.log_partition([[1.0], [1000.0]], prove=True).proved.tolist()
    [True, False]
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    exact: BoolArray
    proved: BoolArray


class MarginalsBatch(_Results[Marginals]):
    """Marginals of every row of a batch: a sequence of :class:`~planaris.Marginals`.

    Attributes
    ----------
    edges : numpy.ndarray
        P(s_u = s_v), one row per model.
    log_z : numpy.ndarray
        log Z of every model.

    Examples
    --------
    >>> import planaris as pl
    >>> found = pl.plan((2, [(0, 1)])).marginals([[0.0], [1.0]])
    >>> found.edges.round(6).tolist(), found.log_z.round(6).tolist()
    ([[0.5], [0.880797]], [1.386294, 1.820075])
    """

    edges: FloatArray
    log_z: FloatArray


class GroundStates(_Results[GroundState]):
    """A ground state of every row of a batch: a sequence of :class:`~planaris.GroundState`.

    The proof of a state is found when its result is asked for.

    Attributes
    ----------
    spins : numpy.ndarray
        int8, one state per row.
    energies : numpy.ndarray
        Their energies.

    Examples
    --------
    >>> import planaris as pl
    >>> found = pl.plan((3, [(0, 1), (1, 2), (0, 2)])).ground_states([[1, 1, 1], [1, 1, -2]])
    >>> found.energies.tolist(), found[1].exact
    ([-3.0, -2.0], True)
    """

    spins: Int8Array
    energies: FloatArray
