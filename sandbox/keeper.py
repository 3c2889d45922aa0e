"""The first process of a session: it forks the kernel, buries the dead, and ends everything when the host is gone.

It runs none of the caller's code. Because it stays as the zygote made it, it can always fork a fresh kernel.
"""

import os
import select
import signal
import socket
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from sandbox.frames import Message, receive_packets, send_packets
from sandbox.kernel import loop
from sandbox.kernel.shell import CellShell
from sandbox.walls import probe, seccomp
from sandbox.walls.wall_in import Enclosure, WallMissing, become_kernel, wall_in


@dataclass(frozen=True, slots=True)
class Kept:
    """What a session was given. The first four are descriptors."""

    base: int
    """Between the host and this process."""
    channel: int
    """Between the host and the kernel."""
    stdout: int
    stderr: int
    request: Message
    enclosure: Enclosure
    program: seccomp.Filter
    shell: CellShell

    def report(self, missing: WallMissing) -> NoReturn:
        """Tell the host which wall could not be put up, and end."""
        with socket.socket(fileno=self.base) as base:
            send_packets(base, {"missing": missing.wall, "reason": str(missing.reason)})
        os._exit(1)


def keep(kept: Kept) -> NoReturn:
    """Wall this process in, then keep a kernel until the host is gone."""
    os.setsid()
    for descriptor in (kept.base, kept.channel, kept.stdout, kept.stderr):
        os.set_inheritable(descriptor, False)  # programs that a cell starts have no use for them
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    try:
        wall_in(kept.enclosure, kept.program)
    except WallMissing as missing:
        kept.report(missing)
    base = socket.socket(fileno=kept.base)
    own = [kept.base, reading, writing]
    send_packets(base, {"walled": True})
    poll = select.poll()
    poll.register(base, select.POLLIN)
    poll.register(reading, select.POLLIN)
    try:
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == reading:
                    os.read(reading, 4096)
                    _reap(base)
                elif receive_packets(base) is None:
                    _end(kept.enclosure)
                else:
                    send_packets(base, {"kernel": _fork_kernel(kept, own)})
    except (OSError, KeyboardInterrupt):
        _end(kept.enclosure)


def _reap(base: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            send_packets(base, {"ended": pid, "status": status})


def _end(enclosure: Enclosure) -> NoReturn:
    """Take along everything this process can signal, where that is its own and nobody else's."""
    if enclosure.uid is not None or enclosure.use_namespaces or enclosure.landlock_abi >= 6:
        with suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    os._exit(0)


def _fork_kernel(kept: Kept, own: list[int]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in own:
            os.close(descriptor)
        become_kernel(kept.enclosure, parent)
        channel = socket.socket(fileno=kept.channel)
        if kept.request["kind"] == "probe":
            outside, host = kept.request["outside"], kept.request["host"]
            send_packets(channel, {"holes": probe.holes(outside, host)})
        else:
            loop.serve(channel, kept.stdout, kept.stderr, kept.shell, kept.request)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
