"""Listens for clients, keeps the sessions, and ends when nobody needs it."""

import os
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.frames import FrameReader, Message, TooLarge, send_json
from sandbox.host.cell_run import CellRun
from sandbox.host.checks import Checks
from sandbox.host.outbox import Outbox
from sandbox.host.refusal import Refusal
from sandbox.host.session import Ground, Session, Spec
from sandbox.host.turn import FOREVER
from sandbox.host.users import Users
from sandbox.host.watchdog import Watchdog

_MAX_REQUEST_BYTES = 64 << 20
_SWEEP_S = 1.0
_CLOSE_S = 10.0


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
        self._opening = threading.Lock()
        self._users = Users(ground.uids)
        self._checks = Checks(ground, self._users)
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
        self._checks.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                threading.Thread(target=self._attend, args=(client,), daemon=True).start()
            except (OSError, RuntimeError) as error:  # no descriptor or thread is left for now
                print(f"a client was not attended to: {error}", file=sys.stderr, flush=True)
                time.sleep(_SWEEP_S)

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
            except (OSError, TooLarge, ValueError, AttributeError, RecursionError) as error:
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
        with self._opening:  # one at a time, and nobody else waits for it
            existing = self._sessions.get(spec.name)
            if existing is None:
                self._refuse_nesting(spec.work)
                uid = self._users.take(spec.work)
                try:
                    session = Session(spec, self._ground, uid)
                except BaseException:
                    self._users.give_back(uid)
                    raise
                with self._lock:
                    self._sessions[spec.name] = session
                return {"info": session.info(), "is_new": True}
        if existing.spec.work != spec.work:
            raise Refusal(
                "SessionIsBusy",
                f"session {spec.name} works in {existing.spec.work}, not in {spec.work}",
                "close it first, or choose another name",
            )
        return {"info": existing.info(), "is_new": False}

    def _refuse_nesting(self, work: str) -> None:
        """A session owns its folder and may move what is in it: no other session can live there."""
        for other in list(self._sessions.values()):
            if f"{work}/".startswith(f"{other.spec.work}/") or f"{other.spec.work}/".startswith(f"{work}/"):
                raise Refusal(
                    "SessionIsBusy",
                    f"{work} is, or is inside, or holds, the work directory of another session ({other.spec.name})",
                    "close that session first, or work elsewhere: `partner sandbox status` shows them",
                )

    def _run(self, request: Message, client: socket.socket) -> Message:
        session = self._session(request["session"])
        if not session.turn.take_for_cell():
            raise Refusal(
                "SessionIsBusy", f"session {session.spec.name} is running a cell", "wait for it, or interrupt it"
            )
        try:
            return {"result": self._run_cell(session, request, client)}
        finally:
            session.used_at = time.monotonic()
            session.turn.end()

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
        return {"result": self._checks.run(request, client)}

    def _interrupt(self, request: Message, _client: socket.socket) -> Message:
        cell = self._session(request["session"]).running
        if cell is not None:
            cell.interrupt()
        return {"was_running": cell is not None}

    def _reset(self, request: Message, _client: socket.socket) -> Message:
        session = self._session(request["session"])
        session.turn.take(FOREVER)
        try:
            session.restart()
        except BaseException:
            self._forget(session)
            raise
        finally:
            session.turn.end()
        return {"info": session.info()}

    def _close(self, request: Message, _client: socket.socket) -> Message:
        session = self._sessions.get(request["session"])
        if session is not None:
            self._end(session)
        return {"was_open": session is not None}

    def _end(self, session: Session) -> None:
        """Stop what it runs, wait for that, and forget it."""
        if session.running is not None:
            session.running.stop()
        is_free = session.turn.take(_CLOSE_S)
        try:
            self._forget(session)
        finally:
            if is_free:
                session.turn.end()

    def _stop(self, _request: Message, _client: socket.socket) -> Message:
        sessions = list(self._sessions.values())
        for session in sessions:
            self._end(session)
        os.unlink(self._listener.getsockname())  # the next client starts a host of its own
        self._stopping.set()
        return {"closed": len(sessions)}

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
            if self._sessions.get(session.spec.name) is not session:
                return  # somebody else has; its user may be another session's by now
            del self._sessions[session.spec.name]
        session.close()
        self._users.give_back(session.uid)

    def _sweep(self) -> None:
        """Close what was idle too long, or grew between its cells."""
        for session in list(self._sessions.values()):
            if session.turn.take():
                try:
                    if why := self._why_close(session):
                        print(f"{session.spec.name}: closed: {why}", file=sys.stderr, flush=True)
                        self._forget(session)
                except Exception:  # one session's trouble is not the others'
                    traceback.print_exc()
                finally:
                    session.turn.end()

    def _why_close(self, session: Session) -> str:
        if time.monotonic() - session.used_at > self._patience.session_idle_s:
            return "it was idle too long"
        exceeded = Watchdog(session, session.spec.limits).exceeded_while_idle()
        return f"while idle, {exceeded[0]}: {exceeded[1]}" if exceeded else ""

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
