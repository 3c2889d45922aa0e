"""What stands before Prefect's server: who may speak to it, what its pages may reach, and whether anyone uses it."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from partner.launch.knock import PATH

_HTTP_REFUSED = 403
_WEBSOCKET_REFUSED = 1008


class Front:
    """An ASGI application around another.

    Answers knocks; refuses what was addressed to another host (a foreign name that was made to resolve to this machine)
    or comes from another site's page; sends the headers that keep the UI from calling outside; notices use.
    """

    def __init__(self, app: ASGIApp, port: int, answer: Callable[[str], str]) -> None:
        self._app = app
        self._answer = answer
        self._hosts = {f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}
        self._headers = _headers(port)
        self._active = 0
        self._used_s = time.monotonic()

    @property
    def idle_s(self) -> float:
        return 0.0 if self._active else time.monotonic() - self._used_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif not self._is_for_us(scope):
            await _refuse(scope, receive, send)
        elif scope["path"] == PATH:
            await self._answer_knock(scope, send)
        else:
            with self._use():
                await self._app(scope, receive, self._with_headers(send))

    def _is_for_us(self, scope: Scope) -> bool:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        return len(hosts) == 1 and hosts[0] in self._hosts and self._origins.issuperset(origins)

    async def _answer_knock(self, scope: Scope, send: Send) -> None:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if query.get("use") == ["1"]:
            self._used_s = time.monotonic()
        await _respond(send, 200, b"application/json", self._answer(query.get("nonce", [""])[0]).encode())

    @contextmanager
    def _use(self) -> Generator[None]:
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1
            self._used_s = time.monotonic()

    def _with_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
            await send(message)

        return send_with_headers


def _headers(port: int) -> list[tuple[bytes, bytes]]:
    """The UI is script, styles, fonts and pictures of this server, its API and its websockets, and nothing else."""
    policy = {
        "default-src": "'self'",
        "script-src": "'self' 'unsafe-eval'",  # the graph of a run is drawn by pixi.js, which compiles its shaders
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": f"'self' ws://127.0.0.1:{port} ws://localhost:{port}",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return [
        (b"content-security-policy", "; ".join(f"{name} {value}" for name, value in policy.items()).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"x-dns-prefetch-control", b"off"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _WEBSOCKET_REFUSED})
    else:
        await _respond(
            send, _HTTP_REFUSED, b"text/plain", b"This server answers to 127.0.0.1 and its own pages only.\n"
        )


async def _respond(send: Send, status: int, kind: bytes, body: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
