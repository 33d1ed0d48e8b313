"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def open_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces the old one only when it is complete.

    Devices and pipes are written to directly. Errors name ``path``.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with open_whole(target) as file:
    ...     _ = file.write(b"42")
    >>> target.read_text(), [other.name for other in target.parent.iterdir()]
    ('42', ['answer.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if _is_special(path) or (target.exists() and not target.is_file()):
        with Path(path).open("wb") as file:
            yield file
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        file = partial.open("wb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path names an open file, as /dev/stdout does; that one must not be replaced."""
    return str(Path(path).absolute()).startswith(("/dev/std", "/dev/fd/", "/proc/"))
