"""Tests say nothing about time: the words of clocks occur where a reason is given, only."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
WORDS = re.compile(r"perf_counter|process_time|monotonic|\bsleep\b|timeout=")

REASONS = {
    "helpers/clocks.py": "the longest work between two looks is noted, for people to read",
    "helpers/processes.py": "looks again for what a process writes; nothing is bounded",
    "helpers/toy_figure.py": "a trial waits until the test takes a file away",
    "browser/conftest.py": "timeout=0: a browser may take as long as it likes to start",
    "unit/play/test_server.py": "the clock of the server is replaced by one of the test",
    "unit/test_no_clocks.py": "the words themselves",
}


def test_no_test_asks_for_the_time():
    found = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if WORDS.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(REASONS), "measure time in `planaris selftest` or in benchmarks/"
