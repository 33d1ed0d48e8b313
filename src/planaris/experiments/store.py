"""Results on disk: one append-only file per figure that survives kills and full disks.

Format: docs/formats/store.md.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from planaris.errors import ModelError
from planaris.experiments.engine import engine
from planaris.experiments.figure import Figure, Params, Record

HEAD = b'{"crc32":"'
MIDDLE = b'","trial":'
TAIL = b"}\n"


def trial_key(figure: Figure, params: Params) -> str:
    """Return the hash of everything that affects a trial: figure, version, parameters, code."""
    matters = {name: value for name, value in params.items() if name != "path"}
    whole = [figure.name, figure.version, engine(), plain(matters)]
    return hashlib.sha256(_dump(whole)).hexdigest()[:32]


class Store:
    """Results in a folder, one file ``NAME.jsonl`` per figure.

    Any number of processes may append at the same time. A record is on disk when
    :meth:`append` returns; one that was cut off is left out by :meth:`read`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the file of a figure."""
        return self.folder / f"{name}.jsonl"

    def append(self, figure: Figure, params: Params, record: Record) -> None:
        """Add the result of a trial; on an error the file is as it was."""
        trial = {
            "key": trial_key(figure, params),
            "figure": figure.name,
            "version": figure.version,
            "engine": engine(),
            "params": plain(params),
            "record": plain(record),
        }
        line = encode(trial)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path(figure.name).open("a+b", buffering=0) as file:
            _lock(file)
            _append(file, line)

    def read(self, figure: Figure) -> dict[str, Record]:
        """Return all whole records of a figure by the key of their trial."""
        try:
            lines = self.path(figure.name).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return {}
        found: dict[str, Record] = {}
        for line in lines:
            trial = decode(line)
            if trial is not None:
                found.setdefault(trial["key"], trial["record"])
        return found


def _lock(file: IO[bytes]) -> None:
    """Wait until no other process appends; closing the file lets the next one in."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(2**31)  # far behind the end: a byte that is locked cannot be read
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _append(file: IO[bytes], line: bytes) -> None:
    """Write a line and wait for the disk; take it back if it does not fit."""
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
        if file.read(1) != b"\n":  # another writer was killed in the middle of a record
            line = b"\n" + line
    try:
        if file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)
        os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):  # what is left is not whole, and read as nothing
            file.truncate(end)
        raise


def encode(trial: dict[str, Any]) -> bytes:
    """Return the line of a trial: a JSON object with the checksum of the object inside."""
    body = _dump(trial)
    return HEAD + b"%08x" % zlib.crc32(body) + MIDDLE + body + TAIL


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the trial of a line, or None if the line is not whole.

    >>> decode(encode({"key": "k", "record": {}}))
    {'key': 'k', 'record': {}}
    >>> decode(encode({"key": "k", "record": {}})[:-3])
    """
    start = len(HEAD) + 8
    body = line[start + len(MIDDLE) : -len(TAIL)]
    if line != HEAD + b"%08x" % zlib.crc32(body) + MIDDLE + body + TAIL:
        return None
    try:
        trial = json.loads(body)
    except (ValueError, RecursionError):  # the checksum fits, but nobody here wrote it
        return None
    return trial if isinstance(trial, dict) and {"key", "record"} <= trial.keys() else None


def _dump(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists; NaN and infinities are refused.

    >>> plain({"x": np.float64(0.5), "spins": np.array([1, -1], dtype=np.int8)})
    {'x': 0.5, 'spins': [1, -1]}
    """
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and np.isfinite(value).all():
        return value.tolist()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        msg = f"a trial must hold finite numbers, got {value}; write None where there is no number"
        raise ModelError(msg)
    if value is None or isinstance(value, str | int | float):
        return value
    msg = f"a trial must hold JSON values, got {type(value).__name__}: {value!r}"
    raise ModelError(msg)
