"""Damaged files: every reader answers, or refuses with a planaris error, at once."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from planaris.errors import PlanarisError
from planaris.infer import ground_state
from planaris.io import read_evidence, read_map, read_mar, read_model, read_pr, read_query
from planaris.models import IsingModel
from planaris.result import load_result

HANG_SECONDS = 5.0

MODELS: dict[str, bytes] = {
    "uai": b"MARKOV\n3\n2 2 3\n3\n1 0\n2 0 1\n2 1 2\n2\n.5 0\n4\n1 2e-3 3 4\n6\n1 1 1 1 1 1e9\n",
    "uai-log": b"MARKOV\n2\n2 3\n2\n2 1 0\n0\n6\n-1 -inf 0 1e300 -2.5e-3 7\n1\n-4\n",
    "maxcut": b"4 4\n1 2 1\n2 3 -1.5\n3 4 2\n1 4 1e3\n",
    "edge-list": b"# num_spins=4 offset=0.5\n0 1 1.0\n1 2 -2\n",
    "coo": b"# vartype=SPIN\n0 0 1.5\n0 1 -1\n2 1 3\n",
    "qubo": b"c hi\np qubo 0 4 2 1\n0 0 1\n3 3 -2\n0 3 1.5\n",
    "bq": b"3 3\n1 1 2\n1 3 -1\n2 3 4\n",
}
RESULTS: list[tuple[Callable[[Any], Any], bytes]] = [
    (read_mar, b"MAR\n2 2 .5 .5 3 .2 .3 .5\n"),
    (read_map, b"MAP\n3 0 1 2\n"),
    (read_pr, b"PR\n-3.5\n"),
    (read_query, b"2 0 1\n"),
    (read_evidence, b"1\n1 4 2\n"),
]
ODD: tuple[bytes, ...] = (
    *(b"-1", b"nan", b"inf", b"1e999", b"99999999999999999999", b"2147483648", b"1000000000"),
    *(b"\x00", b"\xff\xfe", b"#", b"\n", b"0x10", b".", b"{", b"[" * 40, b"\x1f\x8b"),
    b"PK\x03\x04",
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


def read_damaged(count: int, seed: int = 0) -> Iterator[str | None]:
    """Damage files of every format ``count`` times in all; yield what was not a clean refusal.

    >>> set(read_damaged(50))
    {None}
    """
    rng = np.random.default_rng([seed, 12])
    with TemporaryDirectory() as folder:
        readers = _readers(Path(folder))
        for k in range(count):
            name, read, text = readers[k % len(readers)]
            broken = damage(text, rng)
            started = time.monotonic()
            try:
                read(broken)
                fault = None
            except (PlanarisError, UnicodeDecodeError):
                fault = None
            except Exception as error:
                fault = f"{name}: {type(error).__name__}: {error} for {broken!r}"
            late = time.monotonic() - started > HANG_SECONDS
            yield f"{name}: took too long for {broken!r}" if late else fault


def _readers(folder: Path) -> list[tuple[str, Callable[[bytes], Any], bytes]]:
    found: list[tuple[str, Callable[[bytes], Any], bytes]] = [
        (name, lambda text, name=name: read_model(io.BytesIO(text), format=name), text)  # type: ignore[misc]
        for name, text in MODELS.items()
    ]
    path = folder / "file"

    def through_a_file(read: Callable[[Any], Any]) -> Callable[[bytes], Any]:
        def run(text: bytes) -> Any:
            path.write_bytes(text)
            return read(path)

        return run

    found += [(read.__name__, through_a_file(read), text) for read, text in RESULTS]
    saved = folder / "result.json"
    ground_state(IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])).save(saved)
    found.append(("load_result", through_a_file(load_result), saved.read_bytes()))
    return found
