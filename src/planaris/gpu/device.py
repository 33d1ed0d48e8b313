"""Devices of torch: found, or refused in one line; and the memory that they have left."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planaris.errors import MethodError, TooLargeError, missing_extra
from planaris.machine import available_bytes, readable

HEADROOM = 2**28
"""Bytes of a GPU that are left to others: code, and what torch takes for itself."""


def import_torch() -> Any:
    """Return the module torch; say in one line how to install it.

    >>> import_torch().__name__
    'torch'
    """
    try:
        import torch
    except ImportError as error:
        raise missing_extra(package="torch", extra="gpu") from error
    return torch


def find_device(device: Any) -> Any:
    """Return a device of torch that can be used: ``"cpu"``, ``"cuda"``, ``"cuda:1"``.

    Raises
    ------
    MethodError
        In one line: no GPU, a torch without CUDA, a driver that is too old.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    >>> find_device("tpu")
    Traceback (most recent call last):
    planaris.errors.MethodError: `device` must be 'cpu', 'cuda' or 'cuda:N', got 'tpu'
    """
    torch = import_torch()
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        msg = f"`device` must be 'cpu', 'cuda' or 'cuda:N', got {device!r}"
        raise MethodError(msg)
    if found.type == "cpu":
        return found
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (found.index or 0) < count:
        return torch.device("cuda", found.index or 0)
    reason = f"`device={str(device)!r}` cannot be used: {_reason(torch, count, told)}"
    msg = f"{reason}; use 'cpu'"
    raise MethodError(msg, reason=reason)


def device_or_cpu(device: Any) -> Any:
    """Return a device that can be used: this one, or the CPU, after a warning of one line.

    Examples
    --------
    >>> device_or_cpu("cpu")
    device(type='cpu')
    """
    try:
        return find_device(device)
    except MethodError as error:
        reason = error.evidence.get("reason")
        if reason is None:
            raise
        warnings.warn(f"{reason}; the CPU is used", stacklevel=3)
        return import_torch().device("cpu")


def _reason(torch: Any, count: int, told: list[Any]) -> str:
    if count:
        return f"this machine has {count} GPU{'s' if count > 1 else ''}"
    if torch.version.cuda is None:
        return f"torch {torch.__version__} was built without CUDA"
    text = str(told[0].message).split(". ")[0].strip() if told else ""
    return text or "torch finds no GPU on this machine"


@contextmanager
def within_memory(device: Any) -> Iterator[None]:
    """Turn a device that runs out of memory into :class:`~planaris.errors.TooLargeError`.

    >>> with within_memory(find_device("cpu")):
    ...     pass
    """
    torch = import_torch()
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        left = free_bytes(device)
        msg = f"{device} has run out of memory: {left} bytes ({readable(left)}) are free now"
        raise TooLargeError(msg, bytes_needed=left + 1) from error


def free_bytes(device: Any) -> int:
    """Return what tables on a device may take.

    >>> free_bytes(find_device("cpu")) > 0
    True
    """
    if device.type == "cpu":
        return available_bytes()
    torch = import_torch()
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(device)
    return max(int(free) - HEADROOM, 0)
