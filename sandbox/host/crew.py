"""The processes of a session, and the sockets to them."""

import fcntl
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from sandbox.frames import Message, PacketReader, TooLarge, packet_pair, send_anew, send_packets
from sandbox.host import processes
from sandbox.host.cgroup import Group
from sandbox.host.refusal import Refusal
from sandbox.host.zygote_link import ZygoteLink

_START_S: Final = 30.0
_RESUME_S: Final = 5.0
_SOON_S: Final = 0.0005
_MAX_MESSAGE_BYTES: Final = 64 << 20
_PIPE_BYTES: Final = 1 << 20
_F_SETPIPE_SZ: Final = 1031


class Crew:
    """A keeper, the kernel it forked, and while a cell runs a copy of that kernel from before the cell.

    Which process is which is known from the system, which stamps every packet with its sender: nobody's word counts.
    """

    def __init__(self, zygote: ZygoteLink, request: Message, group: Group | None) -> None:
        self.base, their_base = packet_pair()
        self.channel, their_channel = packet_pair()
        self.stdout, their_stdout = output_pipe()
        self.stderr, their_stderr = output_pipe()
        self.base_reader = PacketReader(self.base, _MAX_MESSAGE_BYTES)
        self.channel_reader = PacketReader(self.channel, _MAX_MESSAGE_BYTES)
        self.keeper = 0
        self.kernel = 0
        self.kernel_inside = 0
        """The kernel's number as its keeper sees it."""
        self.kernel_handle = -1
        self.copy: int | None = None
        self._lost_with_copy: list[str] = []
        self.is_fresh = True
        """Whether the kernel has run nothing yet."""
        try:
            if group:
                group.make_ready()
            zygote.fork(request, [their_base.fileno(), their_channel.fileno(), their_stdout, their_stderr])
        finally:
            their_base.close()
            their_channel.close()
            os.close(their_stdout)
            os.close(their_stderr)
        try:
            self.keeper = self._await_keeper("walled")
            if group:
                group.add(self.keeper)  # before it forks anything that runs code of others
            self.fork_kernel()
        except BaseException:
            self.end()
            raise
        self.baseline_bytes = processes.anonymous_bytes(self.kernel)

    def fork_kernel(self) -> None:
        """A fresh kernel from the keeper: empty variables, the same walls."""
        self.channel_reader.main = None
        send_packets(self.base, {"op": "fork"})
        self._await_keeper("kernel")
        send_anew(self.channel, {"op": "start"})  # what was sent to a kernel that died is not for this one
        for pid, message in messages(self.channel, self.channel_reader):
            if message.get("frame") == "ready":
                self._adopt(pid)
                self.is_fresh = True
                return
        raise _did_not_start()

    def renew_kernel(self) -> None:
        """A fresh kernel in place of this one: nothing that ran is left, and nothing of what it said."""
        processes.kill_below(self.keeper, set())
        for descriptor in (self.stdout, self.stderr):
            with suppress(BlockingIOError):
                while os.read(descriptor, _PIPE_BYTES):
                    continue
        for _ in self.unheard():
            continue
        self.fork_kernel()

    def unheard(self) -> Iterator[tuple[int, Message]]:
        """What lies in the channel, from processes that are dead or wait; of what is not whole, nothing."""
        while select.select([self.channel], [], [], 0)[0]:
            try:
                received = self.channel_reader.read()
            except (TooLarge, ValueError):
                continue
            except (EOFError, ConnectionResetError):
                break
            if received is not None:
                yield received
        self.channel_reader.forget()

    def has_died(self) -> bool:
        """Whether the kernel has ended."""
        return bool(select.select([self.kernel_handle], [], [], 0)[0])

    def keep_copy(self, pid: int) -> None:
        """Remember the kernel's copy, and which libraries it would be without: threads do not survive a fork."""
        self.copy = pid
        names = processes.thread_names(self.kernel)
        self._lost_with_copy = ["polars"] if any(name.startswith("polars-0") for name in names) else []

    def drop_copy(self) -> None:
        """End the copy that is not needed; it must be gone before the next cell is sent, or it would take it."""
        if self.copy is not None:
            processes.kill(self.copy)
            while not processes.is_dead(self.copy):
                time.sleep(_SOON_S)
            self.copy = None

    def resume_copy(self) -> bool:
        """Have the copy take over; False when there is none that can."""
        copy, self.copy = self.copy, None
        if copy is None or processes.is_dead(copy):
            return False
        send_anew(self.channel, {"op": "resume", "lost_libraries": self._lost_with_copy})
        for pid, message in messages(self.channel, self.channel_reader, _RESUME_S):
            if pid == copy and message.get("frame") == "ready":
                self._adopt(pid)
                return True
        return False

    def end(self) -> None:
        """End every process, and let go of the sockets."""
        if self.keeper:
            processes.kill_below(self.keeper, set())
            processes.kill(self.keeper)
        if self.kernel:  # orphaned, if the keeper was killed before
            processes.kill_below(self.kernel, set())
            if self.has_died() is False:
                processes.kill(self.kernel)
        self.base.close()
        self.channel.close()
        for descriptor in (self.stdout, self.stderr, self.kernel_handle):
            if descriptor >= 0:
                os.close(descriptor)

    def _adopt(self, pid: int) -> None:
        """Take this process for the kernel."""
        if self.kernel_handle >= 0:
            os.close(self.kernel_handle)
        self.kernel_handle = os.pidfd_open(pid)
        self.kernel = self.channel_reader.main = pid
        self.kernel_inside = processes.innermost_pid(pid)

    def _await_keeper(self, word: str) -> int:
        """The keeper's process id, once it says this word."""
        for pid, message in messages(self.base, self.base_reader):
            if "missing" in message:
                raise Refusal("NoSafeSandbox", f"the wall '{message['missing']}' did not hold: {message['reason']}", "")
            if word in message:
                return pid
        raise _did_not_start()


def output_pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with suppress(OSError):  # a user has an allowance of large pipes
        fcntl.fcntl(reading, _F_SETPIPE_SZ, _PIPE_BYTES)
    return reading, writing


def messages(
    end: socket.socket, reader: PacketReader | None = None, within_s: float = _START_S
) -> Iterator[tuple[int, Message]]:
    """Messages as they come, until the other side is gone or takes too long."""
    reader = reader or PacketReader(end, _MAX_MESSAGE_BYTES)
    until = time.monotonic() + within_s
    while (left := until - time.monotonic()) > 0:
        if select.select([end], [], [], left)[0]:
            try:
                received = reader.read()
            except (EOFError, ConnectionResetError):
                return
            except (TooLarge, ValueError):
                continue  # what a dead kernel's cell had written
            if received is not None:
                yield received


def _did_not_start() -> Refusal:
    return Refusal("SandboxFailed", "a session did not start", "see the sandbox host's log")
