"""A few processes that answer; one that does not answer in time is ended and replaced."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from http import HTTPStatus
from queue import Empty, LifoQueue
from time import monotonic
from typing import Any

ANSWER_SECONDS = 12.0
"""Longest that one request may take; the verbs themselves are given less."""
WAIT_SECONDS = 5.0
"""Longest that a request waits for its turn."""
START_SECONDS = 30.0
"""Added for a process that has not answered yet: it has to start first."""

PIPE_BYTES = 512
"""What a pipe that is ready takes without blocking, by POSIX."""

Reply = tuple[int, bytes]


def error(status: int, message: str) -> Reply:
    """Return a reply that says what went wrong, on one line."""
    return status, json.dumps({"error": message}).encode("ascii")


class Worker:
    """One process, started now."""

    def __init__(self, command: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "planaris.play.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the server, which then ends this
        )
        self.started = False
        self.died = False

    def ask(self, question: str, body: Any, seconds: float) -> Reply | None:
        """Return the reply, or None when the process died or took too long."""
        until = monotonic() + seconds + (0.0 if self.started else START_SECONDS)
        if not self._write_line(json.dumps([question, body]).encode("ascii") + b"\n", until):
            return None
        line = self._read_line(until)
        if line is None:
            return None
        self.started = True
        status, _, answer = line.partition(b" ")
        return int(status), answer

    def _write_line(self, line: bytes, until: float) -> bool:
        assert self.process.stdin is not None, "a pipe was asked for"
        handle, rest = self.process.stdin.fileno(), memoryview(line)
        while rest:
            _, ready, _ = select.select([], [handle], [], max(until - monotonic(), 0.0))
            if not ready:
                return False
            try:
                rest = rest[os.write(handle, rest[:PIPE_BYTES]) :]
            except OSError:
                self.died = True
                return False
        return True

    def _read_line(self, until: float) -> bytes | None:
        assert self.process.stdout is not None, "a pipe was asked for"
        handle = self.process.stdout.fileno()
        parts: list[bytes] = []
        while not (parts and parts[-1].endswith(b"\n")):
            ready, _, _ = select.select([handle], [], [], max(until - monotonic(), 0.0))
            if not ready:
                return None
            chunk = os.read(handle, 2**20)
            if not chunk:  # closed at the other end
                self.died = True
                return None
            parts.append(chunk)
        return b"".join(parts)

    def end(self) -> None:
        """End the process and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


class Workers:
    """As many processes as requests are answered at a time."""

    def __init__(
        self,
        count: int = 2,
        *,
        answer_seconds: float = ANSWER_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        command: list[str] | None = None,
    ) -> None:
        self.answer_seconds = answer_seconds
        self.wait_seconds = wait_seconds
        self.command = command
        self.all = [Worker(command) for _ in range(count)]
        self._idle: LifoQueue[int] = LifoQueue()
        self._closed = False
        for index in range(count):
            self._idle.put(index)

    def ask(self, question: str, body: Any) -> Reply:
        """Return the reply of a free process; an error when none is free or it is late."""
        try:
            index = self._idle.get(timeout=self.wait_seconds)
        except Empty:
            return error(HTTPStatus.SERVICE_UNAVAILABLE, "busy with other requests; ask again")
        try:
            reply = self.all[index].ask(question, body, self.answer_seconds)
            if reply is not None:
                return reply
            died = self.all[index].died
            self._replace(index)
        finally:
            self._idle.put(index)
        if died:
            return error(HTTPStatus.INTERNAL_SERVER_ERROR, "the process that worked on it died")
        late = f"no answer within {self.answer_seconds:g} s; ask for something smaller"
        return error(HTTPStatus.GATEWAY_TIMEOUT, late)

    def _replace(self, index: int) -> None:
        self.all[index].end()
        if not self._closed:
            self.all[index] = Worker(self.command)

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        for worker in self.all:
            worker.end()
