"""Requests to answers: plain data in, plain data out, whatever comes in."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

from planaris.errors import PlanarisError, TimeLimitError, TooLargeError
from planaris.play import answers, curves
from planaris.play.fields import Fields, RequestError
from planaris.play.scenes import MAX_SIDE, SCENE_FIELDS, Scene, build_scene

Reply = tuple[int, dict[str, Any]]
Answerer = Callable[[Any], dict[str, Any]]

LONGEST = 400
"""Characters of a message; the rest is cut off."""


def respond(question: str, body: Any) -> Reply:
    """Answer one request; never raises.

    Parameters
    ----------
    question : str
        One of ``QUESTIONS``.
    body : object
        Parsed JSON: what :func:`planaris.play.scenes.build_scene` takes, and for samples
        ``sample_seed``, for marginals ``spin``.

    Returns
    -------
    int, dict
        An HTTP status and the answer, or ``{"error": one line}``.

    Examples
    --------
    >>> status, answer = respond("ground-state", {"source": {"kind": "square", "rows": 2}})
    >>> status, answer["exact"], answer["checked"]
    (200, True, True)
    >>> respond("ground-state", {"source": {"kind": "cube"}})
    (400, {'error': "`source.kind` must be one of square, ..., got 'cube'"})
    """
    try:
        if question not in QUESTIONS:
            return 404, {"error": "there is no such question"}
        return 200, QUESTIONS[question](body)
    except RequestError as error:
        return 400, {"error": one_line(error)}
    except (TimeLimitError, TimeoutError) as error:
        return 504, {"error": one_line(error)}
    except (TooLargeError, MemoryError) as error:
        return 413, {"error": one_line(error) or "out of memory"}
    except PlanarisError as error:
        return 422, {"error": one_line(error)}
    except Exception as error:
        traceback.print_exc()  # for the operator of the page, not its users
        kind = type(error).__name__
        return 500, {"error": f"internal error ({kind})"}


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def to_json(value: Any) -> bytes:
    """Return an answer as JSON on one line; infinite numbers become null.

    >>> to_json({"energy": float("inf"), "edges": [[0, 1]]})
    b'{"energy":null,"edges":[[0,1]]}'
    """
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    if hasattr(value, "item"):  # a number of numpy
        return _finite(value.item())
    return value


def _of_scene(answer: Callable[[Scene], dict[str, Any]]) -> Answerer:
    """Answer a question that takes nothing but the scene."""
    return lambda body: answer(build_scene(body))


def _sample(body: Any) -> dict[str, Any]:
    scene, fields = _with(body, "sample_seed")
    return answers.draw_sample(scene, fields.integer("sample_seed", 0, 2**31 - 1, default=0))


def _marginals(body: Any) -> dict[str, Any]:
    scene, fields = _with(body, "spin")
    most = MAX_SIDE**2 - 1
    spin = None if fields.get("spin") is None else fields.integer("spin", 0, most)
    return answers.find_marginals(scene, spin)


def _with(body: Any, extra: str) -> tuple[Scene, Fields]:
    fields = Fields(body, known=(*SCENE_FIELDS, extra))
    return build_scene({k: v for k, v in body.items() if k != extra}), fields


QUESTIONS: dict[str, Answerer] = {
    "model": _of_scene(answers.draw),
    "ground-state": _of_scene(answers.find_ground_state),
    "domain-wall": _of_scene(answers.find_domain_wall),
    "log-partition": _of_scene(answers.find_log_partition),
    "curves": _of_scene(curves.find_curves),
    "file": _of_scene(curves.write_file),
    "sample": _sample,
    "marginals": _marginals,
}
