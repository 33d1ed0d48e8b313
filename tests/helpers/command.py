"""The command line as its users meet it: what it writes, and its exit code.

A process of its own takes a second to import what is imported here already, so commands run in
this process unless the process is the point (``in_process=False``): then arguments, streams and
exit codes go through the operating system.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any
from unittest import mock

from planaris.cli.main import run

COMMAND = [sys.executable, "-c", "from planaris.cli.main import run; run()"]


def planaris(
    *arguments: Any, stdin: str | None = None, code: int = 0, in_process: bool = True
) -> tuple[str, str]:
    """Run ``planaris`` and return what it wrote to stdout and stderr."""
    words = [str(argument) for argument in arguments]
    if in_process:
        returned, out, err = _call(words, stdin or "")
    else:
        done = subprocess.run([*COMMAND, *words], input=stdin, capture_output=True, text=True)
        returned, out, err = done.returncode, done.stdout, done.stderr
    assert returned == code, err
    return out, err


def _call(words: list[str], stdin: str) -> tuple[int, str, str]:
    """Call the command as the interpreter would; return exit code and streams."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with (
        mock.patch.object(sys, "argv", ["planaris", *words]),
        mock.patch.object(sys, "stdin", given),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        code = _exit_code()
    out, err = (_text(stream) for stream in streams)
    return code, out, err


def _exit_code() -> int:
    try:
        run()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.buffer.seek(0)
    return stream.buffer.read().decode()
