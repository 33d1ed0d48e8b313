"""Benchmarks keep up with the package: each imports, and scripts print their help."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports_and_scripts_print_their_help(path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr("sys.argv", [str(path), "--help"])
    if 'if __name__ == "__main__":' not in path.read_text():
        runpy.run_path(str(path), run_name=path.stem)  # for pytest
        return
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(path), run_name="__main__")
    assert stopped.value.code == 0
    assert f"usage: {path.name}" in capsys.readouterr().out
