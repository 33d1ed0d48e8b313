"""Nothing that is read is ever run, and damaged files are refused."""

from __future__ import annotations

import ast
import bz2
import gzip
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import planaris
from helpers.trials import trials
from planaris.errors import FileFormatError, PlanarisError, TooLargeError
from planaris.io.images import read_image
from planaris.selftest.tampering.corruption import KINDS
from planaris.selftest.tampering.hostile import little_memory, read_damaged, try_reader
from planaris.selftest.tampering.readers import MODELS, make_readers

SOURCES = sorted(Path(planaris.__file__).parent.rglob("*.py"))
BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "read_pickle", "literal_eval"}


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_nothing_is_unpickled_or_evaluated(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            assert not names & BANNED_MODULES, f"line {node.lineno}"
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in BANNED_MODULES, f"line {node.lineno}"
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node)
        is_bare = isinstance(node.func, ast.Name) or name == "read_pickle"
        assert not (is_bare and name in BANNED_CALLS), f"line {node.lineno}: {name}"
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if owner in ("np", "numpy") and name == "load":
            given = {k.arg: k.value for k in node.keywords}
            allow = given.get("allow_pickle")
            assert allow is None or (isinstance(allow, ast.Constant) and allow.value is False)
        if owner == "torch" and name == "load":
            assert any(k.arg == "weights_only" for k in node.keywords), f"line {node.lineno}"


def test_damaged_files_are_refused_or_read():
    faults = [fault for fault in read_damaged(trials(1000, 4000), seed=1) if fault is not None]
    assert not faults


def test_every_text_format_is_damaged():
    from planaris.io.model_files import READERS

    assert set(MODELS) >= set(READERS) - {"bqm"}


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return {reader.name: reader for reader in make_readers(tmp_path_factory.mktemp("readers"))}


def refusal(reader, data):
    """Return what a reader says of a file, in 200 MiB of memory."""
    with little_memory(), pytest.raises(PlanarisError) as caught:
        reader.read(data)
    return str(caught.value)


def test_seeds_are_read(readers):
    for reader in readers.values():
        for seed in reader.seeds:
            if reader.name == "model":  # some need to be told their format
                assert try_reader(reader, seed) is None
                continue
            with little_memory():
                reader.read(seed)


def test_every_reader_is_there(readers):
    known = {*MODELS, "bqm", "model", "names", "result", "store", "crf", "crf member", "image"}
    assert known <= set(readers)
    assert {f"proof: {kind}" for kind in KINDS} <= set(readers)


def compressed(*parts, how=bz2.compress):
    """Return what makes a compressed file: when a test asks, not when it is collected."""
    return lambda: how(b"".join(piece * times for piece, times in parts))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("maxcut", b"4000000 0\n"),
        ("edge-list", b"# num_spins=4000000\n0 1 1\n"),
        ("coo", b"# num_variables=4000000\n0 1 1\n"),
        ("qubo", b"p qubo 0 4000000 0 0\n"),
        ("bq", b"4000000 0\n"),
        ("edge-list", compressed((b"a b\n", 2**18))),
        ("maxcut", compressed((b"%d %d\n" % (2, 2**18), 1), (b"1 2 3\n", 2**18))),
        ("read_mar", compressed((b"MAR 500000 ", 1), (b"1 1 ", 500_000))),
        ("read_evidence", compressed((b"500000 ", 1), (b"0 1 ", 500_000))),
    ],
)
def test_small_files_of_large_things_need_little(readers, name, text):
    text = text() if callable(text) else text
    assert len(text) < 1000
    with little_memory():
        readers[name].read(text)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("maxcut", b"9000000 0\n", "at most 4000000 variables"),
        ("model", compressed((b"\n", 2**27)), "expand the file yourself"),
        ("model", compressed((b"\n", 2**27), how=gzip.compress), "expand the file yourself"),
        ("names", b"[" * 10**5, "expected JSON"),
        ("names", b'{"variables": ' + b"[" * 10**5, "expected JSON"),
        ("result", b"[" * 10**5, "not JSON"),
        # A directory of a zip file that begins before the file.
        (
            "model",
            b"PK\x03\x04" + bytes(26) + b"PK\x05\x06" + bytes(12) + b"@\0\0\0\0\0",
            "damaged",
        ),
        ("crf member", b"\x04no array", "got something else"),
        ("crf member", b"\x04\x93NUMPY\x01\x00\x05\x00{'a'\n", "got something else"),
        ("crf", b"no archive", "got something else"),
    ],
)
def test_what_fuzzing_found_is_refused(readers, name, text, words):
    assert words in refusal(readers[name], text() if callable(text) else text)


def png(width, height):
    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_images_that_do_not_fit_are_refused_before_they_are_decoded(readers, tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(png(5000, 5000))
    with little_memory(), pytest.raises(TooLargeError, match="5000×5000 pixels needs"):
        read_image(path)
    path.write_bytes(png(11_000, 11_000))
    with pytest.raises(FileFormatError, match="too large"):
        read_image(path)
    path.write_bytes(png(50_000, 50_000))
    with pytest.raises(FileFormatError, match="exceeds limit"):
        read_image(path)
    assert "not an image" in refusal(readers["image"], png(5, 5)[:-20])


def test_lengths_that_images_announce_take_no_memory(readers):
    whole = next(seed for seed in readers["image"].seeds if b"IDAT" in seed)
    at = whole.index(b"IDAT") - 4
    for length in (2**28, 2**31 - 1):
        damaged = whole[:at] + struct.pack(">I", length) + whole[at + 4 :]
        assert try_reader(readers["image"], damaged) is None


@pytest.mark.parametrize(
    ("kind", "field"),
    [("decomposition", "piece_offsets"), ("decomposition", "edges"), ("not planar", "edges")],
)
def test_proofs_number_things_by_whole_numbers(readers, kind, field):
    reader = readers[f"proof: {kind}"]
    body = json.loads(reader.seeds[0])
    proof = body["certificate"]
    proof = proof["upper"] if kind == "decomposition" else proof
    proof[field][0] = 1e300
    assert "whole numbers" in refusal(reader, json.dumps(body).encode())


def bqm(n, m, first, others, bias=1.0):
    """Return a file of dimod's; what its compiled reader took on trust could end the process."""
    head = f'{{"dtype":"float64","itype":"int32","ntype":"int32","shape":[{n},{m}],'
    head += '"variables":false,"vartype":"SPIN"}'
    rows = b"".join(struct.pack("<id", place, 0.5) for place in first)
    entries = b"".join(struct.pack("<id", other, bias) for other in others)
    whole = struct.pack("<I", len(head)) + head.encode() + struct.pack("<d", 0.0)
    return b"DIMODBQM\2\0" + whole + rows + entries


def test_dimod_files_are_checked_before_dimod_trusts_them(readers):
    read = readers["bqm"].read
    assert read(bqm(2, 1, [0, 1], [1, 0])).num_edges == 1
    for n, m, first, others in [
        (2, 1, [0, 1], [2**30, 0]),
        (2, 1, [0, 1], [-5, 0]),
        (2, 1, [0, 1], [1, 1]),
        (2, 1, [0, 2], [1, 1]),
        (2, 1, [0, -7], [1, 0]),
        (2, 1, [1, 0], [1, 0]),
        (2, 2**40, [0, 1], [1, 0]),
        (-2, 1, [0, 1], [1, 0]),
        (3, 1, [0, 1], [1, 0]),
    ]:
        assert "a dimod quadratic model" in refusal(readers["bqm"], bqm(n, m, first, others))


def test_readers_in_a_process_of_one_gibibyte():
    """All of them, with no more room than this from the start, in a process of their own."""
    code = (
        "from planaris.selftest.tampering.hostile import little_memory, read_damaged\n"
        "with little_memory(2**30):\n"
        "    print(sum(fault is None for fault in read_damaged(1500, 3)))\n"
    )
    # Without this, glibc reserves 64 MiB of addresses for every thread: 1 GiB for 16 processors.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == "1500", done.stderr
