"""The process of the local Prefect server: `python -m partner.launch.prefect_server`, told what to do on its stdin."""

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from partner.launch.environment import server_settings
from partner.launch.folder import ServerFolder, ServerRecord
from partner.launch.front import Front
from partner.launch.knock import Answer, proof
from partner.launch.start import Start
from partner.launch.template import keep_template, template_folder, use_template

_USUAL_PORT = 4200
_LOG_BYTES = 4 << 20
_TICKS = 20  # uvicorn ticks ten times a second
_START_S = 120.0
_PREDECESSOR_S = 10.0
_GRACE_S = 3
_END_S = 8.0


class LocalServer(uvicorn.Server):
    """Serves until it is told to stop, nobody used it for long enough, or its home is not there any more."""

    def __init__(self, app: ASGIApp, port: int, start: Start, on_ready: Callable[[], None]) -> None:
        self._port = port
        self._start = start
        self._on_ready = on_ready
        self._folder = ServerFolder(start.home)
        self._auth = self._folder.auth()
        self._record: ServerRecord | None = None
        self._identity: tuple[int, ...] | None = None
        self._is_ending = False
        self._front = Front(app, port, self._answer)
        super().__init__(
            uvicorn.Config(self._front, log_config=None, access_log=False, timeout_graceful_shutdown=_GRACE_S)
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        self._identity = self._folder.identity()
        self._record = ServerRecord(
            port=self._port, pid=os.getpid(), started_at_ms=time.time_ns() // 1_000_000, prefect=version("prefect")
        )
        self._folder.write_record(self._record)
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            if self._folder.identity() != self._identity:
                os._exit(0)  # nothing is left to be ended well
            if self._front.idle_s > self._start.idle_s:
                self._is_ending = True
                return True
            self._folder.bound_log(_LOG_BYTES)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._is_ending = True
        _end_after(_END_S)
        if self._record is not None:
            self._folder.remove_record(self._record)
        await super().shutdown(sockets)

    def _answer(self, nonce: str) -> str:
        if self._is_ending:
            return ""  # nobody shall begin to rely on it now
        up_s = time.time() - self._record.started_at_ms / 1000 if self._record else 0.0
        signed = proof(nonce, self._port, self._auth)
        return Answer(proof=signed, pid=os.getpid(), prefect=version("prefect"), up_s=up_s).model_dump_json()


def main() -> None:
    start = Start.model_validate_json(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)  # whoever starts a server has no child to wait for
    os.setsid()
    os.umask(0o077)
    giving_up = _end_after(_START_S)
    folder = ServerFolder(start.home)
    os.chdir(folder.path)
    with folder.only_one_runs(_PREDECESSOR_S):
        template = template_folder()
        is_new = not folder.database.exists() and not use_template(template, folder.path)

        def ready() -> None:
            giving_up.cancel()
            if is_new:
                keep_template(template, folder.path)
            _close_stdout()

        listener = _listener(folder)
        port: int = listener.getsockname()[1]
        os.environ.update(server_settings(port, folder.auth(), _ui_copy(folder)))
        LocalServer(_prefect(), port, start, ready).run([listener])


def _prefect() -> ASGIApp:
    """Prefect's own application, with the settings that stand in the environment now."""
    gc.disable()  # half a second of looking for garbage among classes and routes, which all stay
    from prefect.server.api.server import create_app

    from partner.launch.database import use_database

    use_database(os.environ["PREFECT_API_DATABASE_CONNECTION_URL"])
    app = create_app()
    gc.freeze()
    gc.enable()
    return app


def _listener(folder: ServerFolder) -> socket.socket:
    """Where the one before was that did not end well, so that its clients go on; else the usual port; else any."""
    last = folder.read_record()
    listener = _bind([last.port, _USUAL_PORT, 0] if last else [_USUAL_PORT, 0])
    # Inherited by each connection. Without it every answer would wait 40 ms for the client's acknowledgement: asyncio
    # sets it only for sockets that say outright that they speak TCP.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _bind(ports: list[int]) -> socket.socket:
    *wished, any_free = ports
    for port in wished:
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    return socket.create_server(("127.0.0.1", any_free))


def _ui_copy(folder: ServerFolder) -> Path | None:
    """Prefect unpacks its pages beside itself; where it may not, into the home."""
    prefect = find_spec("prefect")
    if prefect is None or prefect.origin is None:
        return None
    return None if os.access(Path(prefect.origin).parent / "server", os.W_OK) else folder.path / "ui"


def _close_stdout() -> None:
    """Whoever started the server has waited for this."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _end_after(seconds: float) -> threading.Timer:
    """A server that hangs where it should begin or end is no server."""
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
    return timer


if __name__ == "__main__":
    main()
