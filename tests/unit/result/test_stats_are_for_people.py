"""No code of the package reads the stats of a result; what code needs is a field with a type."""

import re
from pathlib import Path

import planaris

READS = re.compile(r"(?<!scipy)\.stats(\[|\.get\(|\.pop\()")
SHOWN = {
    "reference/ball.py": "doctests that show a number in more digits than a double has",
}


def test_no_code_reads_stats():
    root = Path(planaris.__file__).parent
    found = {}
    for path in root.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if READS.search(line)]
        if lines:
            found[path.relative_to(root).as_posix()] = lines
    assert set(found) == set(SHOWN), found
    assert all(">>>" in line for line in found["reference/ball.py"])
