"""A process that answers requests, one line of JSON each way; the server may end it any time.

Run as ``python -m planaris.play.worker``. Apart from the server, so that an answer that takes
too long, or too much memory, or falls over, takes nothing else with it.
"""

from __future__ import annotations

import json
import os
import sys

from planaris.play.api import respond, to_json

MEMORY = 8 * 2**30
"""Bytes of address space; numbers libraries reserve a few of them without use."""


def main() -> None:
    """Answer until standard input ends."""
    _limit_memory()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not get between the answers
    for line in sys.stdin.buffer:
        question, body = json.loads(line)
        status, answer = respond(question, body)
        answers.write(b"%d %s\n" % (status, to_json(answer)))
        answers.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)  # the server is ending, too
