"""A server on this machine that speaks Tavily's API, well or badly, as the test scripts it."""

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Scripted:
    """One answer: its status, its headers, and its body, in pieces when it is too large to hold."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Callable[[], Iterator[bytes]] | None = None
    hang_up: bool = False
    """Close the connection without a word."""
    drip_headers: bool = False
    """Send a header that never ends, a byte at a time."""
    wire: Callable[[], Iterator[bytes]] | None = None
    """What is sent as it is, whether HTTP or not."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def results(*items: object, **fields: object) -> Scripted:
    """An answer as Tavily gives it."""
    return said({"query": "q", "images": [], "results": list(items), "response_time": 0.5, **fields})


def said(value: object) -> Scripted:
    return Scripted(body=json.dumps(value).encode())


def failed(status: int, error: str = "", **headers: str) -> Scripted:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status, json.dumps({"detail": {"error": error}}).encode(), named)


def redirected(url: str) -> Scripted:
    return Scripted(307, b"", {"Location": url})


def gzip_bomb(size_mb: int) -> Scripted:
    return Scripted(body=gzip.compress(bytes(size_mb * MEGABYTE)), headers={"Content-Encoding": "gzip"})


def deflate_bomb(size_mb: int) -> Scripted:
    return Scripted(body=zlib.compress(bytes(size_mb * MEGABYTE)), headers={"Content-Encoding": "deflate"})


def bomb_in_a_bomb(size_mb: int) -> Scripted:
    """A few kilobytes, packed twice."""
    body = gzip.compress(gzip.compress(bytes(size_mb * MEGABYTE)))
    return Scripted(body=body, headers={"Content-Encoding": "gzip, gzip"})


def on_the_wire(*pieces: bytes, then: bytes = b"") -> Scripted:
    """These bytes, and then the same ones for ever."""
    return Scripted(wire=lambda: chain(pieces, repeat(then) if then else ()))


def large_page(size_mb: int) -> Scripted:
    """A sound answer whose one page is of this size."""
    head = b'{"results": [{"url": "https://large.example/", "title": "Large", "content": "c", "raw_content": "'
    return Scripted(pieces=lambda: iter([head, *[b"x" * MEGABYTE] * size_mb, b'"}]}']))


def endless(stopped: threading.Event, pause_s: float = 0.01) -> Scripted:
    """Spaces, a few at a time, until the test is over."""

    def pieces() -> Iterator[bytes]:
        while not stopped.wait(pause_s):
            yield b"        "

    return Scripted(pieces=pieces)


@dataclass
class TavilyServer:
    """Answers each request with the next scripted answer, and the last one for ever; remembers what it was asked."""

    url: str
    script: list[Scripted]
    stopped: threading.Event
    asked: list[Asked] = field(default_factory=list)

    def next_answer(self, asked: Asked) -> Scripted:
        self.asked.append(asked)
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def answers(self, *script: Scripted) -> None:
        self.script[:] = script


@contextmanager
def tavily_server(script: Sequence[Scripted] = ()) -> Generator[TavilyServer]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    fake = TavilyServer(f"http://127.0.0.1:{http.server_port}", list(script) or [results()], threading.Event())
    http.fake = fake  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        fake.stopped.set()
        http.shutdown()
        thread.join()
        http.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        fake: TavilyServer = self.server.fake  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = fake.next_answer(Asked(self.path, dict(self.headers.items()), json.loads(body)))
        try:
            self._answer(answer, fake.stopped)
        except OSError:
            self.close_connection = True  # who asked has had enough

    def _answer(self, answer: Scripted, stopped: threading.Event) -> None:
        if answer.hang_up:
            self.close_connection = True
            return
        if answer.drip_headers:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
            while not stopped.wait(0.01):
                self.wfile.write(b"x")
            return
        if answer.wire:
            self.close_connection = True
            for piece in answer.wire():
                self.wfile.write(piece)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.pieces is None:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        for piece in answer.pieces() if answer.pieces else [answer.body]:
            self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name it has
        """Say nothing."""
