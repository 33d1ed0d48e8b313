"""Try an installed planaris, with or without its extras: `python tools/smoke.py [EXTRA…]`.

Every verb is compared with a listing of all states, a result is saved and checked by the command
line, and every extra that is named works. Run it from a folder without the sources.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import metadata, version
from itertools import product
from math import exp, fsum, log
from pathlib import Path

import planaris as pl

EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]
COUPLINGS = [1.0, -0.5, 0.75, 0.25, -1.25]


def try_verbs(folder: Path) -> None:
    energies = [
        -fsum(J * s[u] * s[v] for (u, v), J in zip(EDGES, COUPLINGS, strict=True))
        for s in product([-1, 1], repeat=4)
    ]
    model = pl.IsingModel(EDGES, COUPLINGS)
    state = pl.ground_state(model)
    assert state.exact
    assert abs(state.energy - min(energies)) < 1e-12
    assert abs(pl.log_partition(model).value - log(fsum(exp(-e) for e in energies))) < 1e-12
    assert (abs(pl.marginals(model).nodes - 0.5) < 1e-12).all()
    assert pl.sample(model, 5, 0).shape == (5, 4)
    file, proof = folder / "model.txt", folder / "proof.json"
    file.write_text("".join(f"{u} {v} {J}\n" for (u, v), J in zip(EDGES, COUPLINGS, strict=True)))
    for words in (["map", file, "--certificate", proof], ["verify", file, proof], ["--help"]):
        command = [sys.executable, "-m", "planaris", *map(str, words)]
        subprocess.run(command, check=True, capture_output=True)


def try_plot() -> None:
    model = pl.generate.spin_glass((4, 4), 0)
    pl.plot(model, pl.ground_state(model))


def try_dimod() -> None:
    from planaris.interop.dimod import PlanarSampler

    bqm = pl.IsingModel(EDGES, COUPLINGS).to_bqm()
    assert PlanarSampler().sample(bqm).first.energy < 0.0


def try_learn() -> None:
    from sklearn.base import clone

    from planaris.learn import GridCRF

    clone(GridCRF())


def try_image() -> None:
    from PIL import Image

    from planaris.io.images import read_image

    with tempfile.TemporaryDirectory() as folder:
        Image.new("L", (3, 2)).save(f"{folder}/black.png")
        assert read_image(f"{folder}/black.png").shape == (2, 3)


def try_torch() -> None:
    from planaris.interop.torch import log_partition

    log_partition(__import__("torch").ones(1, 1).double(), (2, [(0, 1)]))


def try_qec() -> None:
    from planaris.interop.stim import Decoder

    Decoder(__import__("stim").DetectorErrorModel("error(0.1) D0\nerror(0.1) D0 L0"))


def try_distributed() -> None:
    __import__("distributed")


def try_parquet() -> None:
    __import__("pyarrow")


EXTRAS: dict[str, Callable[[], None]] = {
    "plot": try_plot,
    "dimod": try_dimod,
    "learn": try_learn,
    "image": try_image,
    "torch": try_torch,
    "gpu": try_torch,
    "qec": try_qec,
    "distributed": try_distributed,
    "parquet": try_parquet,
}


def main(installed: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try_verbs(Path(folder))
    assert set(EXTRAS) == set(metadata("planaris").get_all("Provides-Extra"))
    for extra, attempt in EXTRAS.items():
        try:
            attempt()
        except ImportError:  # what it says is for tests/unit/test_imports.py
            if extra in installed:
                raise
    named = ", ".join(installed) or "none"
    print(f"planaris {version('planaris')} at {Path(pl.__file__).parent}, extras: {named}: good")


if __name__ == "__main__":
    main(sys.argv[1:])
