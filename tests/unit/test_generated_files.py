from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import planaris

ROOT = Path(__file__).parents[2]


@pytest.mark.repository  # and nanobind
def test_the_stub_of_the_core_is_fresh(tmp_path):
    fresh = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-m", "planaris._core", "-o", str(fresh)]
    subprocess.run(command, check=True, capture_output=True)
    committed = Path(planaris.__file__).with_name("_core.pyi")
    assert fresh.read_text() == committed.read_text(), "run `make stubs`"


@pytest.mark.repository
def test_every_binding_is_called_once():
    module = (ROOT / "cpp/module.cpp").read_text()
    called = re.findall(r"planaris::bindings::bind_(\w+)\(m\)", module)
    paths = (ROOT / "cpp").glob("*/*_binding.cpp")
    files = [path.stem.removesuffix("_binding") for path in paths]
    assert sorted(called) == sorted(files)
