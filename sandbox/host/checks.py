"""Checks: code that is run once, in a session of its own, on copies of files."""

import os
import secrets
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from typing import Any

from sandbox.frames import Message
from sandbox.host import copies, folder
from sandbox.host.cell_run import CellRun
from sandbox.host.outbox import Outbox
from sandbox.host.session import Ground, Session, Spec
from sandbox.host.users import Users


class Checks:
    """Runs each check in a session that has run nothing before it, and can write nothing.

    The next check's session is made while one runs, and the last one's cleared away after it: a check then takes what
    its files and its code take. The one in advance is for the limits and the seed that were last asked for.
    """

    def __init__(self, ground: Ground, users: Users) -> None:
        self._ground = ground
        self._users = users
        self._lock = threading.Lock()
        self._spare: Session | None = None
        self._at_work: set[threading.Thread] = set()
        self._is_closed = False

    def run(self, request: Message, client: socket.socket) -> Message:
        """The result, without the outputs: those were sent on as they came."""
        limits, seed = request["limits"], request["seed"]
        session = self._take(limits, seed)
        self._meanwhile(self._prepare_next, limits, seed)
        try:
            copies.make(request["files"], session.spec.work, limits["disk_bytes"], session.uid)
            outbox = Outbox(client)
            result = CellRun(session, {**request, "checkpoint": "off", "limits": {}}, outbox).run()
            outbox.finish()
            return result
        finally:
            self._meanwhile(self._clear_away, session)

    def close(self) -> None:
        """Clear away the session that nobody took; what is being cleared away is waited for."""
        with self._lock:
            self._is_closed = True
            spare, self._spare = self._spare, None
        if spare is not None:
            self._clear_away(spare)
        for thread in self._at_work.copy():
            thread.join()

    def _take(self, limits: dict[str, Any], seed: int) -> Session:  # Any: JSON numbers
        with self._lock:  # one that is in the making is sooner there than another
            spare, self._spare = self._spare, None
        if spare is None:
            return self._make(limits, seed)
        if (spare.spec.limits, spare.spec.seed) == (limits, seed) and not spare.crew.has_died():
            return spare
        self._clear_away(spare)
        return self._make(limits, seed)

    def _meanwhile(self, work: Callable[..., None], *arguments: Any) -> None:  # Any: the work's own
        def do() -> None:
            try:
                work(*arguments)
            except Exception:  # the next check makes its own session, and says what is wrong
                traceback.print_exc(file=sys.stderr)
            finally:
                self._at_work.discard(threading.current_thread())

        thread = threading.Thread(target=do, name="beside a check")
        self._at_work.add(thread)
        thread.start()

    def _prepare_next(self, limits: dict[str, Any], seed: int) -> None:  # Any: JSON numbers
        with self._lock:
            if self._spare is None and not self._is_closed:
                self._spare = self._make(limits, seed)

    def _make(self, limits: dict[str, Any], seed: int) -> Session:  # Any: JSON numbers
        place = tempfile.mkdtemp(prefix=f"{self._ground.name}-")
        uid = self._users.take(place)
        try:
            if uid is not None:
                os.chown(place, uid, uid)
            name = f"check-{secrets.token_hex(6)}"
            spec = Spec(name, place, writable=False, seed=seed, disallowed_imports=(), limits=limits)
            return Session(spec, self._ground, uid)
        except BaseException:
            self._users.give_back(uid)
            folder.remove(place)
            raise

    def _clear_away(self, session: Session) -> None:
        try:
            session.close()
        finally:
            self._users.give_back(session.uid)
            folder.remove(session.spec.work)
