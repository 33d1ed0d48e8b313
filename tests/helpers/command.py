"""The command line as its users meet it: a process with its own exit code."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-c", "from planaris.cli.main import run; run()"]


def planaris(*arguments: Any, stdin: str | None = None, code: int = 0) -> tuple[str, str]:
    """Run ``planaris`` and return what it wrote to stdout and stderr."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr
