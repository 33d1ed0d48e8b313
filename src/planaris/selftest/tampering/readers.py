"""Every reader of planaris as a function of bytes, with small files that it takes."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from planaris.errors import FileFormatError
from planaris.experiments.store import decode, encode
from planaris.infer import ground_state
from planaris.io import (
    read_evidence,
    read_map,
    read_mar,
    read_model,
    read_pr,
    read_query,
    read_uai,
)
from planaris.io.uai import names_path
from planaris.models import IsingModel
from planaris.result import load_result
from planaris.result.files import digest, save_result
from planaris.selftest.tampering.corruption import KINDS, solve_kind
from planaris.verify import check_result

MODELS: dict[str, tuple[bytes, ...]] = {
    "uai": (
        b"MARKOV\n3\n2 2 3\n3\n1 0\n2 0 1\n2 1 2\n2\n.5 0\n4\n1 2e-3 3 4\n6\n1 1 1 1 1 1e9\n",
        b"BAYES 2 2 2 2 1 0 2 0 1 2 .4 .6 4 .2 .8 .3 .7",
        b"MARKOV 0 1 0 1 3.5",
    ),
    "uai-log": (b"MARKOV\n2\n2 3\n2\n2 1 0\n0\n6\n-1 -inf 0 1e300 -2.5e-3 7\n1\n-4\n",),
    "maxcut": (b"4 4\n1 2 1\n2 3 -1.5\n3 4 2\n1 4 1e3\n", b"3 2\n1 2\n2 3\n"),
    "edge-list": (b"# num_spins=4 offset=0.5\n0 1 1.0\n1 2 -2\n", b"a b\nb c\nc a\n"),
    "coo": (b"# vartype=SPIN\n0 0 1.5\n0 1 -1\n2 1 3\n", b"# offset=2\n0 0 1\n0 1 2\n"),
    "qubo": (b"c offset=0.5: a note\np qubo 0 4 2 1\n0 0 1\n3 3 -2\n0 3 1.5\n",),
    "bq": (b"# offset=-1\n3 3\n1 1 2\n1 3 -1\n2 3 4\n",),
}
RESULTS: list[tuple[Callable[[Any], Any], bytes]] = [
    (read_mar, b"MAR\n2 2 .5 .5 3 .2 .3 .5\n"),
    (read_map, b"MAP\n3 0 1 2\n"),
    (read_pr, b"PR\n-3.5\n"),
    (read_query, b"2 0 1\n"),
    (read_evidence, b"1\n1 4 2\n"),
]


@dataclass(frozen=True)
class Reader:
    """A reader: its name, the function, and files that it takes."""

    name: str
    read: Callable[[bytes], Any]
    seeds: tuple[bytes, ...]


def make_readers(folder: Path) -> list[Reader]:
    """Return the readers, those that need an extra only where it is installed.

    They write into ``folder`` what must come from a file.
    """
    found = [
        Reader(name, lambda data, name=name: read_model(io.BytesIO(data), format=name), seeds)  # type: ignore[misc]
        for name, seeds in MODELS.items()
    ]
    found += [
        Reader(read.__name__, lambda data, read=read: read(io.BytesIO(data)), (seed,))  # type: ignore[misc]
        for read, seed in RESULTS
    ]
    found += [_any_model(), _names(folder), _result_file(folder), *_proofs(folder), _store()]
    found += _crf(folder)
    if find_spec("dimod"):
        found.append(_bqm())
    if find_spec("PIL"):
        found += _images(folder)
    return found


def _any_model() -> Reader:
    """Return the reader that has to find out the format, and the compression."""
    plain = MODELS["maxcut"][0]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a", plain)
    packed = (gzip.compress(plain), bz2.compress(plain), lzma.compress(plain), archive.getvalue())
    seeds = (*(seed for seeds in MODELS.values() for seed in seeds), *packed)
    return Reader("model", lambda data: read_model(io.BytesIO(data)), seeds)


def _names(folder: Path) -> Reader:
    model = folder / "named.uai"
    model.write_bytes(b"MARKOV 2 2 2 0")

    def read(data: bytes) -> Any:
        names_path(model).write_bytes(data)
        return read_uai(model)

    return Reader("names", read, (b'{"variables": ["a", "b"]}', b'{"variables": [1, 2]}'))


def _result_file(folder: Path) -> Reader:
    path = folder / "result.json"
    save_result(ground_state(IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])), path)

    def read(data: bytes) -> Any:
        path.write_bytes(data)
        return load_result(path)

    return Reader("result", read, (path.read_bytes(),))


def _proofs(folder: Path) -> list[Reader]:
    """Return one reader per kind of proof: the digest is made to fit, and the proof is checked."""
    return [_proof(folder, kind) for kind in KINDS]


def _proof(folder: Path, kind: str) -> Reader:
    model = KINDS[kind][0]
    path = folder / "proof.json"
    save_result(solve_kind(kind), path)
    whole = json.loads(path.read_bytes())

    def read(data: bytes) -> Any:
        try:
            body = json.loads(data)
            path.write_text(json.dumps({**whole, "body": body, "sha256": digest(body)}))
        except (ValueError, RecursionError):  # no body to speak of
            return None
        return check_result(model, load_result(path))

    return Reader(f"proof: {kind}", read, (json.dumps(whole["body"]).encode(),))


def _store() -> Reader:
    def read(data: bytes) -> Any:
        if decode(data) is not None:
            decode(encode(decode(data) or {}))

    return Reader("store", read, (encode({"key": "k", "record": {"x": 1.5}}),))


def _bqm() -> Reader:
    model = IsingModel([(0, 1), (1, 2)], [1.0, -2.0], [0.5, 0.0, 0.0])
    with model.to_bqm().to_file() as file:
        seed = file.read()
    return Reader("bqm", lambda data: read_model(io.BytesIO(data), format="bqm"), (seed,))


def _crf(folder: Path) -> list[Reader]:
    """Return a reader of whole files, and one of every member, whose checksum is made to fit."""
    from planaris.learn import PlanarCRF

    path = folder / "crf.npz"
    rng = np.random.default_rng(0)
    PlanarCRF(max_iter=3).fit([rng.random((3, 4))], [rng.integers(0, 2, (3, 4))]).save(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def read(data: bytes) -> Any:
        path.write_bytes(data)
        return PlanarCRF.load(path)

    def read_member(data: bytes) -> Any:
        name = list(members)[data[0] % len(members)] if data else "format.npy"
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for other, content in {**members, name: data[1:]}.items():
                archive.writestr(other, content)
        return read(target.getvalue())

    seeds = tuple(bytes([k]) + content for k, content in enumerate(members.values()))
    return [Reader("crf", read, (whole,)), Reader("crf member", read_member, seeds)]


def _images(folder: Path) -> list[Reader]:
    from PIL import Image

    from planaris.io.images import FORMATS, read_image, read_mask

    path = folder / "image"
    seeds = []
    for kind in FORMATS:
        for mode in ("L", "RGB", "1", "P"):
            file = io.BytesIO()
            try:
                Image.new(mode, (5, 3)).save(file, kind)
                Image.open(file).load()
            except OSError:  # not a mode of this format, or not for this version of Pillow
                continue
            seeds.append(file.getvalue())

    def read(data: bytes) -> Any:
        path.write_bytes(data)
        with _silent_libraries():
            with contextlib.suppress(FileFormatError):
                read_mask(path, max_side=4)
            return read_image(path)

    return [Reader("image", read, tuple(seeds))]


@contextlib.contextmanager
def _silent_libraries() -> Iterator[None]:
    """Drop what compiled decoders write to the stderr of the process about damaged images."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
