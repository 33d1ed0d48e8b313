"""Run one T-join solver on one stored instance, in a process of its own, and print JSON.

    python benchmarks/matching_rivals.py planaris|pymatching|lemon INSTANCE.npz [LEMON_PROGRAM]

Seconds are processor time (all three run on one core) from the arrays in memory to the weight of
the answer: building is included. The peak memory is that of the process less what it held before
(LEMON: all of its process).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LEMON_SCALE = 2.0**26  # LEMON takes integers only


def planaris(faces, sides, couplings):
    from planaris.matching.tjoins import minimum_tjoin

    odd, outer = _odd(faces, sides, couplings)
    begin = time.process_time()
    answer = minimum_tjoin(faces, sides, np.abs(couplings), odd, boundary=outer, threads=1)
    return time.process_time() - begin, answer.objective


def pymatching(faces, sides, couplings):
    import pymatching
    from scipy.sparse import csc_matrix

    odd, outer = _odd(faces, sides, couplings)
    begin = time.process_time()
    column = np.repeat(np.arange(len(sides)), 2)
    row = sides.ravel()
    inner = row != outer[0]
    shape = (faces - 1, len(sides))
    checks = csc_matrix((np.ones(inner.sum(), np.uint8), (row[inner], column[inner])), shape)
    matching = pymatching.Matching.from_check_matrix(
        checks, weights=np.abs(couplings), merge_strategy="smallest-weight"
    )
    syndrome = np.zeros(faces - 1, np.uint8)
    syndrome[odd] = 1
    _, weight = matching.decode(syndrome, return_weight=True)
    return time.process_time() - begin, weight


def lemon(faces, sides, couplings):
    integral = couplings.dtype.kind == "i"
    scale = 1.0 if integral else LEMON_SCALE
    weights = np.round(couplings * scale).astype(np.int64)
    data = np.concatenate([[faces, len(sides)], np.column_stack([sides, weights]).ravel()])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance"
        data.astype(np.int64).tofile(path)
        run = subprocess.run([sys.argv[3], path], capture_output=True, text=True, check=True)
    seconds, weight = run.stdout.split()
    return float(seconds), int(weight) / scale + float(-couplings[couplings < 0].sum())


def _odd(faces, sides, couplings):
    around = np.bincount(sides[couplings < 0].ravel(), minlength=faces)
    return np.flatnonzero(around[:-1] % 2).astype(np.int32), np.array([faces - 1], np.int32)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("solver", choices=["planaris", "pymatching", "lemon"])
    parser.add_argument("instance")
    parser.add_argument("lemon_program", nargs="?")
    given = parser.parse_args()
    solver = given.solver
    with np.load(given.instance) as stored:
        instance = int(stored["faces"]), stored["sides"], stored["couplings"]
    # Imports are no part of the work.
    tiny = 2, np.array([[0, 1], [0, 1]], np.int32), np.array([1, -1])
    {"planaris": planaris, "pymatching": pymatching, "lemon": lemon}[solver](*tiny)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    seconds, weight = globals()[solver](*instance)
    if solver == "lemon":
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    else:
        peak = _status("VmHWM") - before
    print(json.dumps({"seconds": seconds, "weight": float(weight), "bytes": peak * 1024}))


if __name__ == "__main__":
    main()
