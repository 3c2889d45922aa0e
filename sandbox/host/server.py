"""Listens for clients, keeps the sessions, and ends when nobody needs it."""

import os
import secrets
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.frames import FrameReader, Message, TooLarge, send_json
from sandbox.host import folder
from sandbox.host.cell_run import CellRun
from sandbox.host.outbox import Outbox
from sandbox.host.refusal import Refusal
from sandbox.host.session import Ground, Session, Spec
from sandbox.host.watchdog import Watchdog

_MAX_REQUEST_BYTES = 64 << 20
_SWEEP_S = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long what nobody uses is kept."""

    session_idle_s: float
    host_idle_s: float


class Server:
    """The sessions of one host, and the socket through which they are reached."""

    def __init__(self, ground: Ground, patience: Patience, listener: socket.socket) -> None:
        self._ground = ground
        self._patience = patience
        self._listener = listener
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._started_at = self._used_at = time.time()
        self._at_work = 0
        self._stopping = threading.Event()
        self._operations: dict[str, Callable[[Message, socket.socket], Message]] = {
            "status": self._status,
            "open": self._open,
            "run": self._run,
            "check": self._check,
            "interrupt": self._interrupt,
            "reset": self._reset,
            "close": self._close,
            "stop": self._stop,
        }

    def serve(self) -> None:
        """Until there has been nothing to do for long enough."""
        threading.Thread(target=self._accept, name="accept", daemon=True).start()
        while not self._is_over():
            self._stopping.wait(_SWEEP_S)
            self._sweep()
        self.close()

    def close(self) -> None:
        for session in list(self._sessions.values()):
            session.close()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        """Answer a client's requests, one after the other, until it hangs up."""
        with client:
            if not _is_welcome(client):
                return
            reader = FrameReader(client, _MAX_REQUEST_BYTES)
            try:
                while (request := reader.read_json()) is not None:
                    if request.get("op") != "status":  # who only looks does not keep us up
                        self._used_at = time.time()
                    with self._lock:
                        self._at_work += 1
                    try:
                        send_json(client, self._answer(request, client))
                    finally:
                        with self._lock:
                            self._at_work -= 1
            except (OSError, TooLarge, ValueError) as error:
                print(f"a client was hung up on: {error}", file=sys.stderr, flush=True)

    def _answer(self, request: Message, client: socket.socket) -> Message:
        try:
            return self._operations[request["op"]](request, client)
        except Refusal as refusal:
            return refusal.as_message()
        except Exception as error:
            traceback.print_exc()
            return Refusal("SandboxFailed", f"the sandbox host failed: {error!r}", "see its log").as_message()

    def _status(self, _request: Message, _client: socket.socket) -> Message:
        with self._lock:
            sessions = [session.info() for session in self._sessions.values()]
        return {
            "pid": os.getpid(),
            "zygote": self._ground.zygote.pid,
            "up_s": round(time.time() - self._started_at, 1),
            "walls": self._ground.walls,
            "landlock_abi": self._ground.landlock_abi,
            "namespaces": self._ground.use_namespaces,
            "namespaces_refused": self._ground.namespaces_refused,
            "cgroup_version": self._ground.hierarchies.version,
            "memory_by": self._ground.memory_by,
            "python": self._ground.zygote.ready["python"],
            "environment": self._ground.environment,
            "not_loaded": self._ground.zygote.ready["not_loaded"],
            "sessions": sessions,
        }

    def _open(self, request: Message, _client: socket.socket) -> Message:
        spec = Spec(
            name=request["name"],
            work=request["work"],
            writable=True,
            seed=request["seed"],
            disallowed_imports=tuple(request["disallowed_imports"]),
            limits=request["limits"],
        )
        with self._lock:
            existing = self._sessions.get(spec.name)
            if existing is None:
                existing = self._sessions[spec.name] = Session(spec, self._ground, self._free_uid(spec.work))
                return {"info": existing.info(), "is_new": True}
        if existing.spec.work != spec.work:
            raise Refusal(
                "SessionIsBusy",
                f"session {spec.name} works in {existing.spec.work}, not in {spec.work}",
                "close it first, or choose another name",
            )
        return {"info": existing.info(), "is_new": False}

    def _run(self, request: Message, client: socket.socket) -> Message:
        session = self._session(request["session"])
        if not session.busy.acquire(blocking=False):
            raise Refusal(
                "SessionIsBusy", f"session {session.spec.name} is running a cell", "wait for it, or interrupt it"
            )
        try:
            return {"result": self._run_cell(session, request, client)}
        finally:
            session.used_at = time.monotonic()
            session.busy.release()

    def _run_cell(self, session: Session, request: Message, client: socket.socket) -> Message:
        outbox = Outbox(client)
        try:
            result = CellRun(session, request, outbox).run()
        except BaseException:
            self._forget(session)  # nobody knows what state it is in
            raise
        session.cells += 1
        outbox.finish()
        return result

    def _check(self, request: Message, client: socket.socket) -> Message:
        """Run code that checks something: a fork of its own, read-only on copies of the files it is given."""
        place = tempfile.mkdtemp(prefix=f"{self._ground.name}-")
        try:
            for name, source in request["files"].items():
                target = os.path.join(place, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(source, target)
            _make_readable(place)
            name = f"check-{secrets.token_hex(6)}"
            limits, seed = request["limits"], request["seed"]
            spec = Spec(name, place, writable=False, seed=seed, disallowed_imports=(), limits=limits)
            session = Session(spec, self._ground, self._free_uid(place))
            try:
                outbox = Outbox(client)
                result = CellRun(session, {**request, "checkpoint": "off", "limits": {}}, outbox).run()
                outbox.finish()
            finally:
                session.close()
            return {"result": result}
        finally:
            folder.remove(place)

    def _interrupt(self, request: Message, _client: socket.socket) -> Message:
        cell = self._session(request["session"]).running
        if cell is not None:
            cell.interrupt()
        return {"was_running": cell is not None}

    def _reset(self, request: Message, _client: socket.socket) -> Message:
        session = self._session(request["session"])
        with session.busy:
            session.restart()
        return {"info": session.info()}

    def _close(self, request: Message, _client: socket.socket) -> Message:
        with self._lock:
            session = self._sessions.pop(request["session"], None)
        if session is not None:
            session.close()
        return {"was_open": session is not None}

    def _stop(self, _request: Message, _client: socket.socket) -> Message:
        with self._lock:
            count = len(self._sessions)
        self.close()
        self._sessions.clear()
        os.unlink(self._listener.getsockname())  # the next client starts a host of its own
        self._stopping.set()
        return {"closed": count}

    def _session(self, name: str) -> Session:
        session = self._sessions.get(name)
        if session is None:
            raise Refusal(
                "SessionIsGone",
                f"there is no session {name}: it was closed, was idle too long, or the sandbox host was restarted",
                "its variables are lost; open it again and replay its cells",
            )
        return session

    def _forget(self, session: Session) -> None:
        with self._lock:
            if self._sessions.get(session.spec.name) is session:
                del self._sessions[session.spec.name]
        session.close()

    def _free_uid(self, work: str) -> int | None:
        """The user a work directory belongs to already, or one that no other session has."""
        if not self._ground.uids:
            return None
        taken = {session.uid for session in self._sessions.values()}
        owner = os.stat(work).st_uid
        if owner in self._ground.uids and owner not in taken:
            return owner
        return next(uid for uid in _shuffled(self._ground.uids) if uid not in taken)

    def _sweep(self) -> None:
        """Close what was idle too long, or grew between its cells."""
        for session in list(self._sessions.values()):
            if session.busy.acquire(blocking=False):
                try:
                    now = time.monotonic()
                    if now - session.used_at > self._patience.session_idle_s:
                        self._forget(session)
                    elif exceeded := Watchdog(session, session.spec.limits, 0).memory_exceeded():
                        print(f"{session.spec.name}: closed while idle: {exceeded[1]}", file=sys.stderr, flush=True)
                        self._forget(session)
                finally:
                    session.busy.release()

    def _is_over(self) -> bool:
        with self._lock:
            is_idle = not self._sessions and not self._at_work
        if self._stopping.is_set():
            return True
        return is_idle and time.time() - self._used_at >= self._patience.host_idle_s


def _is_welcome(client: socket.socket) -> bool:
    """Only whoever owns this host, or root."""
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] in (os.geteuid(), 0)


def _make_readable(place: str) -> None:
    for path, folders, names in os.walk(place):
        for name in (*folders, *names):
            os.chmod(os.path.join(path, name), 0o555 if name in folders else 0o444)
    os.chmod(place, 0o555)  # noqa: S103  (a session's user reads what is in it)


def _shuffled(uids: range) -> Any:  # Any: an endless iterator of numbers
    while True:
        yield uids[secrets.randbelow(len(uids))]
