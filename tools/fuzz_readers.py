"""Coverage-guided fuzzing of every reader, with atheris (libFuzzer for Python).

    python tools/fuzz_readers.py FOLDER [SECONDS [READER…]]

Each reader gets its share of the seconds, and a corpus under FOLDER that is kept between runs. What
is neither an answer nor a planaris error, within 2 s and 200 MiB, is told once per kind and written
to FOLDER; the exit code is then 1.
"""

from __future__ import annotations

import hashlib
import os
import re
import site
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

ROOM = 4096
"""Inputs are at most so much longer than the longest seed."""
WATCHED = ("planaris.io", "planaris.io.images", "planaris.result", "planaris.verify")
"""What is fuzzed for coverage, with what it imports."""


def main(folder: Path, seconds: int, names: list[str]) -> int:
    from planaris.selftest.tampering.hostile import ODD
    from planaris.selftest.tampering.readers import make_readers

    folder.mkdir(parents=True, exist_ok=True)
    escaped = ("".join(f"\\x{byte:02x}" for byte in odd) for odd in ODD)
    (folder / "words").write_text("".join(f'"{word}"\n' for word in escaped))
    with TemporaryDirectory() as scratch:
        readers = [r for r in make_readers(Path(scratch)) if not names or r.name in names]
    total, faults = 0, 0
    for reader in readers:
        corpus = folder / re.sub(r"\W+", "-", reader.name)
        corpus.mkdir(exist_ok=True)
        for k, seed in enumerate(reader.seeds):
            (corpus / f"seed-{k}").write_bytes(seed)
        options = [
            f"-max_total_time={max(seconds // len(readers), 1)}",
            f"-max_len={max(map(len, reader.seeds)) + ROOM}",
            f"-dict={folder / 'words'}",
        ]
        runs, edges, said = _start(reader.name, corpus, options)
        total, faults = total + runs, faults + len(said)
        print(f"{reader.name:24} {runs:9,} executions, {edges} edges, {len(said)} faults")
        print(*said, sep="\n", end="\n" if said else "", flush=True)
    print(f"{total:,} executions, {faults} faults")
    return int(faults > 0)


def _start(name: str, corpus: Path, options: list[str]) -> tuple[int, str, list[str]]:
    """Fuzz one reader in a process; return executions, edges covered and faults."""
    options = [*options, "-timeout=20", "-print_final_stats=1"]
    options += [f"-artifact_prefix={corpus}-", str(corpus)]
    done = subprocess.run(
        [sys.executable, __file__, *options],
        env={**os.environ, "READER": name},
        capture_output=True,
        text=True,
        errors="replace",
    )
    runs = re.findall(r"number_of_executed_units: (\d+)", done.stderr) or ["0"]
    edges = re.findall(r"cov: (\d+)", done.stderr) or ["0"]
    said = done.stdout.splitlines()
    if done.returncode:  # a crash or a hang
        said += done.stderr.splitlines()[-12:]
    return int(runs[-1]), edges[-1], said


def fuzz(name: str, corpus: str) -> None:
    import atheris

    _find_sources()
    with atheris.instrument_imports(include=["planaris"]):
        for watched in WATCHED:
            import_module(watched)
    from planaris.selftest.tampering.hostile import MAX_SECONDS, try_reader
    from planaris.selftest.tampering.readers import make_readers

    memory = "/dev/shm"  # many readers take a file by its name: no disk is that fast
    scratch = TemporaryDirectory(dir=memory if Path(memory).is_dir() else None)
    reader = next(r for r in make_readers(Path(scratch.name)) if r.name == name)
    told: set[str] = set()

    def one(data: bytes) -> None:
        fault = try_reader(reader, data, MAX_SECONDS)
        kind = "" if fault is None else re.sub(r"[\d']+", "0", fault[:70])
        if fault is None or kind in told:
            return
        told.add(kind)
        path = Path(f"{corpus}-fault-{hashlib.sha256(data).hexdigest()[:12]}")
        path.write_bytes(data)
        print(f"{fault[:300]} ({path})", flush=True)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def _find_sources() -> None:
    """Import planaris from its sources: the loader of an editable install hides them."""
    sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
    import planaris

    for folder in site.getsitepackages():  # where the compiled core is
        planaris.__path__.append(str(Path(folder) / "planaris"))


if __name__ == "__main__":
    if "READER" in os.environ:
        fuzz(os.environ["READER"], sys.argv[-1])
    else:
        sys.exit(main(Path(sys.argv[1]), int([*sys.argv, "60"][2]), sys.argv[3:]))
