"""Checks: code that is run once, in a session of its own, on copies of files."""

import os
import secrets
import socket
import sys
import tempfile
import threading
import traceback
from typing import Any

from sandbox.frames import Message
from sandbox.host import copies, folder
from sandbox.host.cell_run import CellRun
from sandbox.host.outbox import Outbox
from sandbox.host.session import Ground, Session, Spec
from sandbox.host.users import Users


class Checks:
    """Runs each check in a kernel that has run nothing before it, in a session that can write nothing.

    A session whose check ended well is used again, with a fresh kernel in empty folders that are made ready while
    nobody waits: a check then takes what its files and its code take. One at most waits for the next check; it is for
    the limits and the seed that were last asked for.
    """

    def __init__(self, ground: Ground, users: Users) -> None:
        self._ground = ground
        self._users = users
        self._changed = threading.Condition()
        self._spare: Session | None = None
        self._coming = 0
        """How many sessions are being made ready."""
        self._at_work: set[threading.Thread] = set()
        self._is_closed = False

    def run(self, request: Message, client: socket.socket) -> Message:
        """The result, without the outputs: those were sent on as they came."""
        session = self._take(request["limits"], request["seed"])
        is_well = False
        try:
            copies.make(request["files"], session.spec.work, request["limits"]["disk_bytes"], session.uid)
            outbox = Outbox(client)
            result = CellRun(session, {**request, "checkpoint": "off", "limits": {}}, outbox).run()
            outbox.finish()
            is_well = bool(result["ok"])
            return result
        finally:
            self._put_back(session, is_well=is_well)

    def close(self) -> None:
        """Clear away the session that nobody took; what is still at work is waited for."""
        with self._changed:
            self._is_closed = True
            spare, self._spare = self._spare, None
        if spare is not None:
            self._clear_away(spare)
        for thread in self._at_work.copy():
            thread.join()

    def _take(self, limits: dict[str, Any], seed: int) -> Session:  # Any: JSON numbers
        with self._changed:  # one that is being made ready is sooner there than another
            self._changed.wait_for(lambda: self._spare is not None or not self._coming)
            spare, self._spare = self._spare, None
        if spare is None:
            return self._make(limits, seed)
        if (spare.spec.limits, spare.spec.seed) == (limits, seed) and not spare.crew.has_died():
            return spare
        self._clear_away(spare)
        return self._make(limits, seed)

    def _put_back(self, session: Session, *, is_well: bool) -> None:
        """Beside whoever called: make it ready for the next check, or clear it away."""

        def do() -> None:
            try:
                if is_well and not self._is_closed:
                    self._make_ready(session)
                else:
                    self._clear_away(session)
            except Exception:  # the next check makes its own session, and says what is wrong
                traceback.print_exc(file=sys.stderr)
            finally:
                with self._changed:
                    self._coming -= is_well
                    self._changed.notify_all()
                self._at_work.discard(threading.current_thread())

        thread = threading.Thread(target=do, name="after a check")
        with self._changed:
            self._coming += is_well
            self._at_work.add(thread)
        thread.start()

    def _make_ready(self, session: Session) -> None:
        try:
            session.renew()
        except BaseException:
            self._clear_away(session)
            raise
        with self._changed:
            is_wanted = self._spare is None and not self._is_closed
            if is_wanted:
                self._spare = session
                self._changed.notify_all()
        if not is_wanted:
            self._clear_away(session)

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
