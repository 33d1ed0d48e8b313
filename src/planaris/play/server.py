"""The server of the page: this machine only, a token in the address, limits on everything.

What a request carries is looked up in a table or parsed as JSON, and nothing else: no path is
joined, no file is opened by name, nothing is written.
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import BoundedSemaphore
from time import monotonic
from typing import Any

from planaris.errors import MethodError
from planaris.play.workers import Reply, Workers, error

LOOPBACK = "127.0.0.1"
MAX_BODY = 4 * 2**20
"""Bytes of the largest request."""
REQUEST_SECONDS = 10.0
"""A request must have arrived whole this long after its first chance to."""
MAX_CONNECTIONS = 24
HTTP_PORT = 80
"""Left out of addresses."""

PAGES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "play.js": ("play.js", "text/javascript; charset=utf-8"),
    "play.css": ("play.css", "text/css; charset=utf-8"),
}
ROUTES = {
    f"api/{question}": question
    for question in (
        "model",
        "ground-state",
        "domain-wall",
        "log-partition",
        "curves",
        "file",
        "sample",
        "marginals",
    )
}

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
JSON = "application/json"


class PlayServer(ThreadingHTTPServer):
    """Serves the page on the loopback interface; ``address`` is what to open.

    Parameters
    ----------
    port : int
        0 takes any free one.
    workers : Workers, optional
        What answers; default two processes.
    request_seconds : float
        How long a request may take to arrive.

    Examples
    --------
    >>> with PlayServer() as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self,
        port: int = 0,
        *,
        workers: Workers | None = None,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self.workers = workers if workers is not None else Workers()
        try:
            super().__init__((LOOPBACK, port), Handler)
        except OSError as refusal:  # the socket is closed, the workers have ended
            msg = f"`port` {port} cannot be listened on ({refusal.strerror}); 0 takes a free one"
            raise MethodError(msg, port=port) from refusal
        self.token = secrets.token_urlsafe(24)
        self.request_seconds = request_seconds
        self._slots = BoundedSemaphore(MAX_CONNECTIONS)
        folder = files("planaris.play").joinpath("static")
        self.pages = {
            route: (folder.joinpath(name).read_bytes(), kind)
            for route, (name, kind) in PAGES.items()
        }

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def host_names(self) -> set[str]:
        """What the header ``Host`` may be."""
        names = {LOOPBACK, "localhost"}
        ports = {f"{name}:{self.server_port}" for name in names}
        return ports | names if self.server_port == HTTP_PORT else ports

    def server_bind(self) -> None:
        """Bind without asking a name server who we are."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or drop it when there are too many."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection and give its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients may go away whenever they like."""

    def server_close(self) -> None:
        """Close the socket and end the workers."""
        super().server_close()
        self.workers.close()


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a point in time, however slowly the bytes drip."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection
        self.until = 0.0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, or raise ``TimeoutError`` when the time is over."""
        left = self.until - monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: PlayServer
    connection: socket.socket

    def setup(self) -> None:
        """Read through a deadline."""
        super().setup()
        self._reader = DeadlineReader(self.connection)
        self.rfile = io.BufferedReader(self._reader)

    def handle_one_request(self) -> None:
        """Serve a request that arrives in time."""
        self._reader.until = monotonic() + self.server.request_seconds
        super().handle_one_request()

    def version_string(self) -> str:
        """Say who answers, and no versions."""
        return "planaris"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses hold the token."""

    # -- requests --------------------------------------------------------------------------

    def do_GET(self) -> None:
        """Send one of the files of the page."""
        with self._refusing():
            route = self._route()
            if route not in self.server.pages:
                _require(route not in ROUTES, HTTPStatus.METHOD_NOT_ALLOWED, "ask with POST")
                raise _Refused(HTTPStatus.NOT_FOUND, "there is no such page")
            body, kind = self.server.pages[route]
            self._send(HTTPStatus.OK, body, kind)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer a question."""
        with self._refusing():
            route = self._route()
            if route not in ROUTES:
                known = route in self.server.pages
                _require(not known, HTTPStatus.METHOD_NOT_ALLOWED, "ask with GET")
                raise _Refused(HTTPStatus.NOT_FOUND, "there is no such question")
            body = self._body()
            if body is not None:
                self._send(*self._answer(ROUTES[route], body), JSON)

    def _answer(self, question: str, body: bytes) -> Reply:
        try:
            values = json.loads(body, parse_constant=_refuse_constant)
            if not isinstance(values, dict):
                return error(HTTPStatus.BAD_REQUEST, "the request must be a JSON object")
            return self.server.workers.ask(question, values)
        except (ValueError, RecursionError):
            return error(HTTPStatus.BAD_REQUEST, "the request must be JSON, not nested deeply")

    # -- what is let in --------------------------------------------------------------------

    def _route(self) -> str:
        """Return what follows the token; refuse other hosts, other origins, other tokens."""
        ours = self.server.host_names
        hosts = self.headers.get_all("Host", [])
        right = len(hosts) == 1 and hosts[0].strip().lower() in ours
        _require(right, HTTPStatus.MISDIRECTED_REQUEST, "this is not that host")
        pages = {f"http://{host}" for host in ours}
        origins = {origin.strip().lower() for origin in self.headers.get_all("Origin", [])}
        site = self.headers.get("Sec-Fetch-Site", "none")
        # Following a link to the page is no request of another page: that one sees nothing.
        followed = self.command == "GET" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        right = origins <= pages and (site in ("none", "same-origin") or followed)
        _require(right, HTTPStatus.FORBIDDEN, "not from another page")
        token, slash, route = self.path.removeprefix("/").partition("/")
        expected = self.server.token.encode("ascii")
        right = hmac.compare_digest(token.encode("utf-8", "replace"), expected) and bool(slash)
        _require(right, HTTPStatus.FORBIDDEN, "open the whole address that was printed")
        return route

    def _body(self) -> bytes | None:
        """Read the body of a request, if it says what it is and is not too long."""
        kind = self.headers.get_content_type()
        _require(kind == JSON, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send {JSON}")
        lengths = self.headers.get_all("Content-Length", [])
        plain = "Transfer-Encoding" not in self.headers and len(lengths) == 1
        _require(plain, HTTPStatus.LENGTH_REQUIRED, "say the length of the request")
        digits = lengths[0].isascii() and lengths[0].isdigit()
        _require(digits, HTTPStatus.BAD_REQUEST, "the length must be a number")
        fits = len(lengths[0]) <= 12 and int(lengths[0]) <= MAX_BODY
        too_large = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        _require(fits, too_large, f"a request has at most {MAX_BODY} bytes")
        try:
            body = self.rfile.read(int(lengths[0]))
        except TimeoutError:
            raise _Refused(HTTPStatus.REQUEST_TIMEOUT, "the request came too slowly") from None
        if len(body) < int(lengths[0]):  # the client has gone
            self.close_connection = True
            return None
        return body

    # -- what is sent ----------------------------------------------------------------------

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Send what was refused and close: the rest of the request is not read."""
        try:
            yield
        except _Refused as refused:
            self.close_connection = True
            self._send(*error(refused.status, refused.message), JSON)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the errors of the standard library as JSON, too."""
        with self._refusing():
            raise _Refused(code, HTTPStatus(code).phrase.lower())

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.connection.settimeout(self.server.request_seconds)
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def _require(condition: bool, status: int, message: str) -> None:
    if not condition:
        raise _Refused(status, message)


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)
