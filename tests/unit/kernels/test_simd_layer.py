"""Instruction sets are named in one place of the core."""

import re
from pathlib import Path

import pytest

CPP = Path(__file__).parents[3] / "cpp"

RAW = re.compile(
    r"immintrin|arm_neon|\b_mm\d*_|\b__m\d{3}|__builtin_(cpu|ia32)|target\(\"|target_clones\("
)


@pytest.mark.repository
def test_no_kernel_names_an_instruction_set():
    files = [f for f in CPP.rglob("*.?pp") if "third_party" not in f.parts] + [*CPP.rglob("*.inl")]
    named = {f.relative_to(CPP).as_posix() for f in files if RAW.search(f.read_text())}
    assert named == {"base/intrinsics.hpp", "base/simd.hpp", "base/simd_vectors.inl"}
