"""Results survive the way to a file and back, and damaged files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planaris as pl
from planaris.errors import FileFormatError
from planaris.result import files, load_result
from planaris.result.files import digest

MODEL = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], fields=[0.0, 0.5, 0.0])


@pytest.mark.parametrize("verb", [pl.ground_state, pl.log_partition, pl.marginals])
def test_numbers_come_back_bit_for_bit(verb: Any, tmp_path: Path) -> None:
    result = verb(MODEL)
    result.save(tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    assert type(again) is type(result)
    for name in ("energy", "value", "lower", "upper", "exact", "method"):
        assert getattr(again, name, None) == getattr(result, name, None)
    for name in ("spins", "nodes", "edges"):
        if hasattr(result, name):
            assert np.array_equal(getattr(again, name), getattr(result, name))


@pytest.mark.parametrize("verb", ["log_partition", "marginals"])
def test_narrow_estimates_are_exact_neither_before_nor_after(verb: str, tmp_path: Path) -> None:
    found = getattr(pl, verb)(MODEL, "tensor-network")
    assert found.estimate
    narrow = replace(found, **{"upper" if verb == "log_partition" else "error": 0.0})
    if verb == "log_partition":
        narrow = replace(narrow, lower=0.0, value=0.0)
    assert not narrow.exact
    narrow.save(tmp_path / "r.json")
    assert not load_result(tmp_path / "r.json").exact


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    result = replace(pl.ground_state(MODEL), assignment=np.array([object()]))
    with pytest.raises(TypeError):
        result.save(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


def body(**changes: Any) -> dict[str, Any]:
    whole = {
        "answer": "ground-state",
        "exact": True,
        "method": "x",
        "energy": 0.0,
        "lower": 0.0,
        "upper": 0.0,
        "spins": [1],
        "labels": None,
        "certificate": None,
    }
    return {**whole, **changes}


def read_body(content: dict[str, Any], folder: Path, version: int = 2) -> Any:
    document = {
        "format": "planaris-result",
        "version": version,
        "sha256": digest(content),
        "body": content,
    }
    (folder / "r.json").write_text(json.dumps(document))
    return load_result(folder / "r.json")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"format": "other"}',
        b'{"format": "planaris-result", "version": 2}',
        b'{"format": "planaris-result", "version": 1, "sha256": "x", "body": {}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_result_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(text)
    with pytest.raises(FileFormatError, match="no result"):
        load_result(tmp_path / "r.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": "other"},
        {"exact": 1},
        {"energy": "1.0"},
        {"energy": None},
        {"spins": ["a"]},
        {"spins": [[1], [1, 2]]},
        {"spins": 3},
        {"certificate": 5},
        {"certificate": {"kind": "no such proof"}},
        {"certificate": {"kind": "flow"}},
        {"certificate": {"kind": ["flow"]}},
        {"certificate": {"kind": "flow", "flow": [True]}},
        {"certificate": [[[[[[[[[[[None]]]]]]]]]]]},
    ],
)
def test_bodies_of_the_wrong_form_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    assert read_body(body(), tmp_path, version=1).energy == 0.0
    with pytest.raises(FileFormatError):
        read_body(body(**changes), tmp_path, version=1)


@pytest.mark.parametrize("answer", ["proof", "planarity"])
def test_files_of_a_proof_hold_one(answer: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="`certificate` must be"):
        read_body({"answer": answer, "certificate": None}, tmp_path)


def test_a_proof_of_before_a_field_was_there_is_read() -> None:
    model = pl.IsingModel.from_image(np.full((3, 3), 0.2), 0.4, -0.3)
    proof = pl.log_partition(model, "tensor-network", prove=True).certificate
    assert proof is not None
    plain = json.loads(json.dumps(files._encode(proof)))
    assert files._decode(plain).other_way == 0
    del plain["other_way"]
    assert files._decode(plain).check(model) == proof.check(model)
    del plain["bonds"]
    with pytest.raises(ValueError, match="its fields and nothing else"):
        files._decode(plain)
