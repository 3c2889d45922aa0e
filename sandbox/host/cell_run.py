"""One cell, followed from the moment it is sent to the moment its session can take the next."""

import os
import select
import time
from contextlib import suppress
from typing import Any, Final

from sandbox import failure
from sandbox.frames import STDERR, STDOUT, Message, TooLarge, send_packets
from sandbox.host import folder, processes
from sandbox.host.answer import is_answer, texts
from sandbox.host.outbox import Capture, Outbox
from sandbox.host.session import Session
from sandbox.host.stopping import AT_ONCE_S, SOON_S, Stopping
from sandbox.host.watchdog import Watchdog

_TICK_MS: Final = 100
_READ_BYTES: Final = 1 << 20
_STATUS_S: Final = 2.0
_SMALL_BYTES: Final = 4096
_MANY: Final = 50
_GATHER_S: Final = 0.002
_ALLOWANCE_BYTES: Final = 8 << 20
"""For what a kernel says beside its displays: a long traceback, lists of paths."""


class CellRun:
    """Sends a cell to its kernel, hands on what it shows, stops it when it must be stopped, and says how it ended."""

    def __init__(self, session: Session, request: Message, outbox: Outbox) -> None:
        limits: dict[str, Any] = {**session.spec.limits, **(request.get("limits") or {})}  # Any: JSON numbers
        self._session = session
        self._request = request
        self._outbox = outbox
        self._timeout_s: float = limits["timeout_s"]
        self._streams = {
            STDOUT: Capture(session.crew.stdout, limits["output_bytes"]),
            STDERR: Capture(session.crew.stderr, limits["output_bytes"]),
        }
        self._display_left: int = limits["display_bytes"]
        self._display = {"captured": 0, "total": 0}
        self._before = session.look_before()
        self._watchdog = Watchdog(session, limits)
        self._was_dead = session.crew.has_died()
        self._may_leave_copy = request["checkpoint"] != "off" and not session.crew.is_fresh
        session.crew.channel_reader.forget()
        session.crew.channel_reader.max_bytes = limits["display_bytes"] + _ALLOWANCE_BYTES
        with suppress(BlockingIOError):
            os.eventfd_read(session.wakeup)  # an interrupt that came too late for the cell it was meant for
        self._done: Message | None = None
        self._is_dead = False
        self._is_keeper_gone = False
        self._stopping = Stopping(session.crew.kernel)
        self._small_reads = 0
        self._statuses: dict[int, int] = {}

    def run(self) -> Message:
        """The result, without the outputs: those were sent on as they came."""
        session, began = self._session, time.monotonic()
        self._deadline = began + self._timeout_s
        session.running = self
        try:
            session.cell_number += 1
            self._send_cell()
            self._follow()
        finally:
            session.running = None
        killed = self._clear_up()
        observed = session.observer.end(self._before)
        changes = folder.compare(self._before, session.look_after())
        verdict = failure.judge(self._evidence())
        state = self._restore()
        nothing: Message = {"listed": [], "missed": [], "appended": [], "asked": [], "asked_all": False}
        done: Message = {**nothing, **(self._done or {})}
        return {
            "ok": verdict.cause is None,
            "cause": verdict.cause,
            "fault": verdict.fault,
            "detail": verdict.detail,
            "error": done.get("error"),
            "state": state,
            "execution_count": done.get("execution_count"),
            "checkpoint": done.get("checkpoint") or ("on" if state == "restored" else "off"),
            "seconds": time.monotonic() - began,
            "stdout": self._streams[STDOUT].figures(),
            "stderr": self._streams[STDERR].figures(),
            "display": {**self._display, "truncated": self._display["total"] > self._display["captured"]},
            "created": texts(changes.created),
            "changed": texts(changes.changed),
            "deleted": texts(changes.deleted),
            "read": texts({*observed.read, *(path for path in done["appended"] if path in self._before)}),
            "listed": texts({*observed.listed, *done["listed"]}),
            "missed": texts(path for path in done["missed"] if path not in changes.created),
            "asked": texts(path for path in done["asked"] if path not in changes.created),
            "observed_all": observed.is_complete and bool(done["asked_all"]),
            "killed_processes": killed,
            "memory_bytes": self._watchdog.memory_bytes,
        }

    def stop(self) -> None:
        """From another thread: end the cell at once, because its session is closed."""
        self._session.is_closing = True
        processes.kill(self._session.crew.kernel)

    def interrupt(self) -> None:
        """From another thread: stop the cell as a timeout would."""
        os.eventfd_write(self._session.wakeup, 1)

    def _send_cell(self) -> None:
        message = {
            "op": "run",
            "id": self._session.cell_number,
            "code": self._request["code"],
            "seed": self._request.get("seed"),
            "checkpoint": self._request["checkpoint"],
        }
        self._is_dead = self._was_dead  # a thread or a timer of an earlier cell's may have ended it
        if not self._is_dead:
            try:
                send_packets(self._session.crew.channel, message)
            except OSError:  # it is stopped, and reads nothing
                processes.kill(self._session.crew.kernel)
                self._is_dead = True

    def _follow(self) -> None:
        session = self._session
        poll = select.poll()
        for descriptor in (
            session.crew.channel,
            session.crew.stdout,
            session.crew.stderr,
            session.crew.base,
            session.wakeup,
        ):
            poll.register(descriptor, select.POLLIN)
        poll.register(session.crew.kernel_handle, select.POLLIN)
        self._outbox.register(poll)
        while not (self._done or self._is_dead):
            for descriptor, event in poll.poll(self._wait_ms()):
                self._handle(descriptor, event, poll)
            if not self._done:
                self._tick()
            if self._small_reads > _MANY:  # line after line: let some gather
                time.sleep(_GATHER_S)

    def _handle(self, descriptor: int, event: int, poll: select.poll) -> None:
        session = self._session
        if descriptor == session.crew.channel.fileno():
            self._small_reads = 0
            self._read_channel()  # first: a display was sent before whatever has been printed and not been read yet
        elif descriptor == session.crew.stdout:
            self._read_stream(STDOUT)
        elif descriptor == session.crew.stderr:
            self._read_stream(STDERR)
        elif descriptor == session.crew.kernel_handle:
            self._is_dead = True
        elif descriptor == session.crew.base.fileno():
            self._read_base(poll)
        elif descriptor == session.wakeup:
            os.eventfd_read(session.wakeup)
            self._stopping.begin("interrupted", "interrupted by its caller")
        elif self._outbox.handle(event, poll):
            self._stopping.begin("interrupted", "its caller went away")

    def _read_channel(self) -> None:
        """Frames of the kernel's. Another process that speaks for it counts for nothing."""
        session = self._session
        try:
            while (received := session.crew.channel_reader.read()) is not None:
                pid, message = received
                if pid != session.crew.kernel:
                    if message.get("frame") == "copy" and session.crew.copy is None and self._may_leave_copy:
                        session.crew.keep_copy(pid)
                else:
                    self._take(message)
        except (EOFError, ConnectionResetError):
            self._is_dead = True
        except (TooLarge, ValueError, KeyError, TypeError) as error:
            self._stopping.begin("forgery", f"the cell wrote to the kernel's own socket: {error}", AT_ONCE_S)

    def _take(self, message: Message) -> None:
        match message:
            case {"frame": "output", "output": {"output_type": str(), "data": dict()} as output}:
                self._show(output, self._session.crew.channel_reader.last_bytes)
            case {"frame": "done", "id": int(number)} if is_answer(message):
                if number == self._session.cell_number and not self._stopping.has_killed:
                    self._done = message
            case _:
                raise ValueError(f"a frame that means nothing: {str(message)[:80]}")

    def _show(self, output: Message, size: int) -> None:
        match output.get("metadata"):
            case {"truncated": int(left_out)}:  # the kernel itself left it out
                self._display["total"] += left_out
            case _:
                self._display["total"] += size
        if size > self._display_left:
            note = f"a display of {size} bytes was left out: more than this cell may show"
            output = {"output_type": "display_data", "data": {"text/plain": note}, "metadata": {"truncated": True}}
        else:
            self._display_left -= size
            self._display["captured"] += size
        self._outbox.push_json({"output": output})

    def _read_base(self, poll: select.poll) -> None:
        try:
            while (received := self._session.crew.base_reader.read()) is not None:
                if "ended" in received[1]:
                    self._statuses[received[1]["ended"]] = received[1]["status"]
        except (EOFError, ConnectionResetError):
            poll.unregister(self._session.crew.base)
            self._is_dead = self._is_keeper_gone = True

    def _read_stream(self, kind: bytes) -> bool:
        """Read once what was printed; whether there was anything."""
        capture = self._streams[kind]
        try:
            data = os.read(capture.descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if taken := capture.take(data):
            self._outbox.push(kind, taken)
        self._small_reads += len(data) < _SMALL_BYTES
        return bool(data)

    def _drain(self) -> None:
        for kind in self._streams:
            for _ in range(64):  # a process that prints without end must not hold us up
                if not self._read_stream(kind):
                    break

    def _tick(self) -> None:
        now = time.monotonic()
        if self._stopping.reason is None:
            if now >= self._deadline:
                self._stopping.begin("timeout", f"still running after {self._timeout_s:g} s")
            elif exceeded := self._watchdog.exceeded(now):
                reason, text = exceeded
                self._stopping.begin(reason, text, AT_ONCE_S if reason == "memory" else SOON_S)
        self._stopping.go_on(now)

    def _wait_ms(self) -> int:
        soonest = min(self._deadline, self._stopping.next_at)
        return max(0, min(_TICK_MS, int((soonest - time.monotonic()) * 1000) + 1))

    def _clear_up(self) -> int:
        """Kill what the cell left running; how many processes that was."""
        session = self._session
        spare = {session.crew.kernel}
        if session.crew.copy is not None:
            spare.add(session.crew.copy)
        killed = processes.kill_below(session.crew.keeper, spare)
        self._drain()
        return killed

    def _evidence(self) -> failure.Evidence:
        error: Message = (self._done or {}).get("error") or {}
        oom_killed = self._watchdog.has_oom_killed()
        return failure.Evidence(
            error_name=error.get("ename"),
            error_number=error.get("errno"),
            error_text=str(error.get("evalue", "")),
            has_answered=self._done is not None,
            was_dead=self._was_dead,
            stopped_for=self._stopping.reason if self._is_dead or error else None,
            stop_text=self._stopping.text() or (self._watchdog.memory_text() if oom_killed else ""),
            wait_status=self._status() if self._is_dead else None,
            was_oom_killed=oom_killed,
        )

    def _status(self) -> int | None:
        """How the kernel ended, as the session's first process saw it."""
        until = time.monotonic() + _STATUS_S
        poll = select.poll()
        poll.register(self._session.crew.base, select.POLLIN)
        while (
            self._session.crew.kernel_inside not in self._statuses
            and not self._is_keeper_gone
            and time.monotonic() < until
        ):
            if poll.poll(_TICK_MS):
                self._read_base(poll)
        return self._statuses.get(self._session.crew.kernel_inside)

    def _restore(self) -> str:
        """Have a kernel that can take the next cell; what became of the variables."""
        session = self._session
        if session.is_closing:
            return "lost"
        was_fresh, session.crew.is_fresh = session.crew.is_fresh, False
        if not self._is_dead:
            session.crew.drop_copy()
            return "kept"
        processes.kill(session.crew.kernel)
        if self._is_keeper_gone:
            session.restart()
        else:
            self._discard_frames()
            if session.crew.resume_copy():
                return "restored"
            processes.kill_below(session.crew.keeper, set())
            session.crew.fork_kernel()
        return "restored" if was_fresh else "lost"

    def _discard_frames(self) -> None:
        """What the dead kernel had still to say; but the copy it left may have only just spoken."""
        crew = self._session.crew
        for pid, message in crew.unheard():
            if message.get("frame") == "copy" and crew.copy is None and self._may_leave_copy:
                crew.keep_copy(pid)
