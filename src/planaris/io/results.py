"""Result files of the UAI competitions: ``.PR``, ``.MAR``, ``.MAP`` and marginal MAP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from planaris.errors import ModelError
from planaris.io.files import Source, read_bytes, refuse, refuse_scan, write_text
from planaris.kernels.text import scan_rows
from planaris.typing import ArrayLike, FloatArray, LongArray


def write_pr(log_partition: float, target: Source, *, log_base: float = 10.0) -> None:
    """Write log Z, given as a natural logarithm; the competitions want base 10.

    >>> write_pr(2.302585092994046, "-")
    PR
    1.0
    """
    value = log_partition / math.log(log_base) if log_base != math.e else log_partition
    write_text(target, f"PR\n{float(value)!r}\n")


def read_pr(source: Source, *, log_base: float = 10.0) -> float:
    """Read log Z as a natural logarithm.

    >>> import io
    >>> round(read_pr(io.StringIO("PR 1.0")), 6)
    2.302585
    """
    numbers, line = _solution(source, ("PR",))
    if len(numbers) != 1:
        refuse(source, line, "one number after PR", f"{len(numbers)}")
    value = float(numbers[0])
    return value * math.log(log_base) if log_base != math.e else value


def write_mar(nodes: Sequence[ArrayLike], target: Source) -> None:
    """Write the marginal table of every variable, in order.

    >>> write_mar([[0.25, 0.75], [1.0]], "-")
    MAR
    2 2 0.25 0.75 1 1.0
    """
    words = [str(len(nodes))]
    for node in nodes:
        table = np.ravel(np.asarray(node, dtype=np.float64)).tolist()
        words += [str(len(table)), *map(repr, table)]
    write_text(target, "MAR\n" + " ".join(words) + "\n")


def read_mar(source: Source) -> list[FloatArray]:
    """Read the marginal table of every variable.

    >>> import io
    >>> read_mar(io.StringIO("MAR 2 2 0.25 0.75 1 1.0"))[0].tolist()
    [0.25, 0.75]
    """
    numbers, line = _solution(source, ("MAR",))
    count = _count(source, numbers, 0, line, "the number of variables")
    place, nodes = 1, []
    wrong = np.append(0, np.cumsum((numbers < 0) | (numbers > 1)))  # up to each number
    for v in range(count):
        size = _count(source, numbers, place, line, f"the number of labels of variable {v}")
        first = place + 1
        table = numbers[first : first + size]
        if len(table) != size or wrong[first + size] > wrong[first]:
            refuse(source, line, f"{size} probabilities of variable {v}", f"{table.tolist()[:4]}")
        nodes.append(table)
        place += 1 + size
    if place != len(numbers):
        refuse(source, line, f"the end after {count} variables", f"{len(numbers) - place} numbers")
    return nodes


def write_map(assignment: ArrayLike, target: Source, *, task: str = "MAP") -> None:
    """Write the label of every variable; the 2022 competition calls the task ``"MPE"``.

    >>> write_map([1, 0, 2], "-")
    MAP
    3 1 0 2
    """
    if task not in ("MAP", "MPE"):
        msg = f"`task` must be 'MAP' or 'MPE', got {task!r}"
        raise ModelError(msg)
    labels = np.ravel(np.asarray(assignment)).tolist()
    write_text(target, f"{task}\n" + " ".join(map(str, [len(labels), *labels])) + "\n")


def read_map(source: Source) -> LongArray:
    """Read the label of every variable.

    >>> import io
    >>> read_map(io.StringIO("MPE 3 1 0 2")).tolist()
    [1, 0, 2]
    """
    numbers, line = _solution(source, ("MAP", "MPE"))
    count = _count(source, numbers, 0, line, "the number of variables")
    labels = numbers[1:]
    whole = (labels == np.floor(labels)) & (labels >= 0) & (labels < 2**31)
    if len(labels) != count or not whole.all():
        refuse(source, line, f"{count} labels", f"{labels.tolist()[:8]}")
    return labels.astype(np.int64)


def write_mmap(labels: Mapping[int, int], target: Source) -> None:
    """Write the labels of the query variables of a marginal-MAP task.

    >>> write_mmap({4: 1, 7: 0}, "-")
    MMAP
    2 4 1 7 0
    """
    pairs = [f"{v} {label}" for v, label in labels.items()]
    write_text(target, "MMAP\n" + " ".join([str(len(pairs)), *pairs]) + "\n")


def _solution(source: Source, tasks: tuple[str, ...]) -> tuple[FloatArray, int]:
    """Return the numbers of the last solution after the task word, and their first line."""
    lines = read_bytes(source).split(b"\n")
    at = next((k for k, line in enumerate(lines) if line.strip()), None)
    words = lines[at].split(None, 1) if at is not None else [b""]
    if at is None or words[0].decode("ascii", "replace").upper() not in tasks:
        refuse(source, (at or 0) + 1, " or ".join(tasks), repr(words[0][:20])[1:])
    lines[at] = b" ".join(words[1:])
    # Several solutions are separated by -BEGIN-; the last one counts.
    begins = [k for k, line in enumerate(lines) if line.strip() == b"-BEGIN-"]
    first = begins[-1] + 1 if begins else at
    body = b"\n".join(lines[first:])
    if tasks == ("PR",) and body.strip() == b"-inf":  # evidence that cannot happen
        return np.array([-np.inf]), first + 1
    rows = scan_rows(b"\n" * first + body, "#")
    refuse_scan(source, rows.error)
    return rows.values, int(rows.row_lines[0]) if len(rows.row_lines) else first + 1


def _count(source: Source, numbers: FloatArray, at: int, line: int, what: str) -> int:
    if at >= len(numbers):
        refuse(source, line, what, "the end of the file")
    value = float(numbers[at])
    if value != math.floor(value) or not 0 <= value < 2**31:
        refuse(source, line, what, f"{value:g}")
    return int(value)
