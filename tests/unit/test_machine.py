"""Limits of control groups, in trees of files as Linux shows them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from planaris.machine import available_bytes, memory_cap, processor_quota, total_bytes

OWN = """9:name=systemd:/user
4:memory:/x/y
3:cpuacct,cpu:/c/d
0::/a/b
"""


@pytest.fixture
def tree(tmp_path):
    def make(files: dict[str, str], own: str = OWN) -> tuple[Path, Path]:
        for name, text in files.items():
            (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "root" / name).write_text(text + "\n")
        (tmp_path / "own").write_text(own)
        return tmp_path / "root", tmp_path / "own"

    return make


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"cpu.max": "max 100000"}, math.inf),
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 0.5),
        ({"cpu/c/cpu.cfs_quota_us": "50000", "cpu/c/cpu.cfs_period_us": "100000"}, 0.5),
        ({"cpu/c/cpu.cfs_quota_us": "50000", "cpu/c/cpu.cfs_period_us": "0"}, math.inf),
        ({"cpu/c/cpu.cfs_quota_us": "50000"}, math.inf),
        ({"cpu.max": "max 100000", "a/cpu.max": "100000 100000", "a/b/cpu.max": "max 1"}, 1.0),
        ({"x/y/cpu.max": "50000 100000", "user/cpu.max": "50000 100000"}, math.inf),
        ({"cpu.max": "nonsense"}, math.inf),
        ({}, math.inf),
    ],
)
def test_quotas_of_control_groups(tree, files, count):
    assert processor_quota(*tree(files)) == min(count, os.cpu_count())


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"memory.max": "max"}, math.inf),
        ({"memory.max": "4096"}, 4096.0),
        ({"a/b/memory.max": "4096"}, 4096.0),
        ({"memory.max": "max", "a/memory.max": "4096", "a/b/memory.max": "max"}, 4096.0),
        ({"memory.max": "9000", "a/memory.max": "4096", "a/b/memory.max": "8192"}, 4096.0),
        ({"a/b/c/memory.max": "1", "b/memory.max": "1", "x/memory.max": "1"}, math.inf),
        ({"memory/memory.limit_in_bytes": "4096"}, 4096.0),
        ({"memory/x/y/memory.limit_in_bytes": "4096"}, 4096.0),
        (
            {
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/x/memory.limit_in_bytes": "4096",
                "memory/x/y/memory.limit_in_bytes": "8192",
            },
            4096.0,
        ),
        ({"memory/a/memory.limit_in_bytes": "1", "memory/c/memory.limit_in_bytes": "1"}, math.inf),
        ({"memory.max": "9000", "memory/x/memory.limit_in_bytes": "4096"}, 4096.0),
        ({"memory.max": "nonsense"}, math.inf),
        ({}, math.inf),
    ],
)
def test_memory_of_control_groups(tree, files, count):
    assert memory_cap(*tree(files)) == count


@pytest.mark.parametrize("own", ["", "nonsense", "0::/\n", "0::/../..\n"])
def test_the_root_counts_whatever_the_process_says_of_its_group(tree, own):
    files = {"memory.max": "4096", "cpu.max": "50000 100000"}
    assert memory_cap(*tree(files, own)) == 4096.0
    assert processor_quota(*tree(files, own)) == 0.5


def test_systems_without_control_groups_have_no_limits(tmp_path):
    assert memory_cap(tmp_path / "none", tmp_path / "own") == math.inf
    assert processor_quota(tmp_path / "none", tmp_path / "own") == os.cpu_count()


def test_this_machine_has_no_more_than_its_groups_leave():
    assert 2**20 < available_bytes() <= total_bytes() <= memory_cap()
