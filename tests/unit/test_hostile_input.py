"""Nothing that is read is ever run, and damaged files are refused."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import planaris
from planaris.selftest.hostile import MODELS, read_damaged

SOURCES = sorted(Path(planaris.__file__).parent.rglob("*.py"))
BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "read_pickle", "literal_eval"}
SAVED_MODEL = "learn"
"""Scikit-learn estimators are pickled by their users, never by planaris."""


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
    faults = [fault for fault in read_damaged(4000, seed=1) if fault is not None]
    assert not faults


def test_every_text_format_is_damaged():
    from planaris.io.model_files import READERS

    assert set(MODELS) >= set(READERS) - {"bqm"}
