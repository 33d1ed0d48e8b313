"""Damaged files: every reader answers or refuses, in little time and memory.

The same readers and seeds serve ``tools/fuzz_readers.py``, which looks for new paths through them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from planaris.errors import PlanarisError
from planaris.selftest.tampering.readers import Reader, make_readers

MAX_SECONDS = 2.0
"""Processor time for one small file."""
MAX_BYTES = 200 * 2**20
"""Memory for one small file."""

ODD: tuple[bytes, ...] = (
    *(
        b"-1",
        b"nan",
        b"inf",
        b"1e999",
        b"1e308",
        b"-1e308",
        b"99999999999999999999",
        b"2147483648",
        b"1000000000",
    ),
    *(b"\x00", b"\xff\xfe", b"#", b"\n", b"0x10", b".", b"{", b"[" * 40, b"\x1f\x8b"),
    *(b"PK\x03\x04", b"=", b"MARKOV", b"p qubo", b"null", b'"', b"BZh9", b"\xfd7zXZ\x00"),
)


def damage(text: bytes, rng: np.random.Generator) -> bytes:
    """Return a text with a few bytes cut, flipped, copied or replaced.

    >>> damage(b"1 2 3", np.random.default_rng(0)) != b"1 2 3"
    True
    """
    for _ in range(int(rng.integers(1, 5))):
        at, to = (int(k) for k in rng.integers(0, len(text) + 1, 2))
        kind = int(rng.integers(5))
        odd = ODD[int(rng.integers(len(ODD)))]
        if kind == 0:
            text = text[:at]
        elif kind == 1 and at < len(text):
            text = text[:at] + bytes([text[at] ^ (1 << int(rng.integers(8)))]) + text[at + 1 :]
        elif kind == 2:
            text = text[:at] + odd + text[at:]
        elif kind == 3:
            text = text[: min(at, to)] + text[max(at, to) :]
        else:
            text = text[:at] + text[to : to + 30] + text[at:]
    return text


def read_damaged(
    count: int, seed: int = 0, *, part: int = 0, max_seconds: float = math.inf
) -> Iterator[str | None]:
    """Damage files of every format ``count`` times in all; yield what was not a clean refusal.

    Parts of the same seed damage files in different ways.

    >>> set(read_damaged(50))
    {None}
    """
    rng = np.random.default_rng([seed, 12, part])
    with TemporaryDirectory() as folder:
        readers = make_readers(Path(folder))
        for k in range(count):
            reader = readers[k % len(readers)]
            text = reader.seeds[k // len(readers) % len(reader.seeds)]
            yield try_reader(reader, damage(text, rng), max_seconds)


def try_reader(reader: Reader, data: bytes, max_seconds: float = math.inf) -> str | None:
    """Read bytes with little memory; return what was neither an answer nor a planaris error.

    >>> try_reader(Reader("whole", int, (b"1",)), b"one")
    "whole: ValueError: invalid literal for int() with base 10: b'one' for b'one'"
    """
    started = time.process_time()
    fault = None
    try:
        with little_memory():
            reader.read(data)
    except PlanarisError:
        pass
    except Exception as error:
        fault = f"{reader.name}: {type(error).__name__}: {error} for {data!r}"
    took = time.process_time() - started
    return f"{reader.name}: took {took:.1f} s for {data!r}" if took > max_seconds else fault


@contextmanager
def little_memory(room: int = MAX_BYTES) -> Iterator[None]:
    """Let this process have so many bytes more than it has; what needs more is a MemoryError.

    Where the system has no such limits, nothing is limited.
    """
    try:
        import resource
    except ImportError:
        yield
        return
    used = psutil.Process().memory_info().vms
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = used + room if soft == resource.RLIM_INFINITY else min(used + room, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
