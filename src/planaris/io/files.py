"""Bytes of files, plain or compressed, and errors that name file, line and column."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

from planaris.errors import FileFormatError, ModelError
from planaris.kernels.text import ScanError
from planaris.writing import open_whole

Source: TypeAlias = str | os.PathLike[str] | IO[Any]
"""A path, ``"-"`` for standard input or output, or an open stream."""

MAX_BYTES = 2**32
"""Largest size of a decompressed file."""
MAX_RATIO, FREE_BYTES = 200, 2**21
"""Largest ratio of decompression, and bytes that do not count for it."""

CHUNK_BYTES = 2**20

COMPRESSED = (".gz", ".xz", ".bz2", ".zip")


def name_of(source: Source) -> str:
    """Return what to call a source in messages."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else os.fspath(source)
    return str(getattr(source, "name", "stream"))


def extension_of(source: Source) -> str:
    """Return the lower-case extension of a source, before those of compression; "" for none.

    >>> extension_of("a.UAI.gz"), extension_of("a.uai.evid"), extension_of("-")
    ('.uai', '.evid', '')
    """
    name = getattr(source, "name", "") if not isinstance(source, str | os.PathLike) else source
    if not isinstance(name, str | os.PathLike):
        return ""
    found = [suffix.lower() for suffix in Path(name).suffixes]
    while found and found[-1] in COMPRESSED:
        found.pop()
    return found[-1] if found else ""


def read_bytes(source: Source) -> bytes:
    """Read all of a file or stream; compression is known by its first bytes."""
    if isinstance(source, str | os.PathLike):
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    elif not hasattr(source, "read"):
        msg = f"`source` must be a path, '-' or a stream, got {type(source).__name__}"
        raise ModelError(msg)
    else:
        given = source.read()
        raw = given.encode() if isinstance(given, str) else bytes(given)
    try:
        return _decompress(raw)
    except MemoryError:
        raise
    except Exception as error:  # the libraries raise whatever their parsers trip over
        msg = f"{name_of(source)}: the compressed data is damaged: {error}"
        raise FileFormatError(msg, path=name_of(source), line=None) from error


def _decompress(raw: bytes) -> bytes:
    openers: dict[bytes, Any] = {
        b"\x1f\x8b": gzip.open,
        b"\xfd7zXZ\x00": lzma.open,
        b"BZh": bz2.open,
        b"PK\x03\x04": _open_zip,
    }
    opener = next((opener for magic, opener in openers.items() if raw.startswith(magic)), None)
    if opener is None:
        return raw
    most = min(MAX_BYTES, FREE_BYTES + MAX_RATIO * len(raw))
    text = bytearray()
    with opener(io.BytesIO(raw)) as stream:
        # Chunk by chunk: a reader asked for all at once sets aside as much before it begins.
        while chunk := stream.read(CHUNK_BYTES):
            text += chunk
            if len(text) > most:
                msg = f"{len(raw)} bytes expand to more than {most}; expand the file yourself first"
                raise OSError(msg)
    return bytes(text)


def _open_zip(raw: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(raw)
    if len(archive.namelist()) != 1:
        msg = f"expected one file in the archive, got {len(archive.namelist())}"
        raise OSError(msg)
    return archive.open(archive.namelist()[0])


def write_text(target: Source, text: str) -> None:
    """Write text to a file or stream; an extension .gz, .xz or .bz2 compresses it."""
    if not isinstance(target, str | os.PathLike):
        try:
            target.write(text)
        except TypeError:
            target.write(text.encode())
        return
    if target == "-":
        sys.stdout.write(text)
        return
    compressors: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".bz2": bz2.compress,
    }
    compress = compressors.get(Path(target).suffix.lower(), bytes)
    data = compress(text.encode())
    with open_whole(target) as file:
        file.write(data)


def refuse(
    source: Source, line: int | None, expected: str, found: str, column: int | None = None
) -> NoReturn:
    """Raise the error for a file that does not follow its format."""
    where = name_of(source) + ("" if line is None else f", line {line}")
    where += "" if column is None else f", column {column}"
    msg = f"{where}: expected {expected}, got {found}"
    raise FileFormatError(msg, path=name_of(source), line=line, column=column)


def refuse_scan(source: Source, error: ScanError) -> None:
    """Raise the error of a scan, if there is one."""
    if error.line:
        refuse(source, error.line, error.expected, error.found, error.column)
