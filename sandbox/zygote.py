"""The warm process that every session is a fork of: libraries loaded once, nothing of anybody's in its memory.

It is started by the sandbox host with an empty environment, has one Python thread, and runs our code only.
On its socket the host asks for sessions; it answers with their process ids, and says how each ended.
"""

import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from sandbox import keeper
from sandbox.frames import Message, receive_with_descriptors, send_packets
from sandbox.kernel.rehearsal import rehearse
from sandbox.kernel.shell import make_shell
from sandbox.linux import MADV_COLLAPSE, PR_SET_CHILD_SUBREAPER, libc, prctl
from sandbox.walls import landlock, seccomp
from sandbox.walls.wall_in import Enclosure, Limits, WallMissing, leave_the_machine

PRELOADED = (
    "pandas", "statsmodels.api", "matplotlib.pyplot", "pyarrow.parquet", "pyarrow.csv", "polars", "jinja2", "openpyxl",
    "pptx", "weasyprint", "sqlite3", "asyncio", "zipfile", "csv", "decimal", "multiprocessing.util",
)  # fmt: skip
"""What a cell imports for nothing. Everything else in the environment can be imported too, at its own cost."""

_DESCRIPTORS = 4
_MOST_DESCRIPTORS = 1 << 20


class Zygote:
    """Holds what every fork shares: the loaded libraries, a shell that has run nothing, the compiled filters."""

    def __init__(self, control: socket.socket, wakeup: int) -> None:
        self._control = control
        self._wakeup = wakeup
        self._filters: dict[seccomp.Leave, seccomp.Filter] = {}
        self._shell = make_shell()
        rehearse(self._shell)

    def serve(self) -> None:
        """Fork a session for each request, until the host is gone."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._wakeup:
                    os.read(self._wakeup, 4096)
                    self._reap()
                elif (request := receive_with_descriptors(self._control, _DESCRIPTORS)) is None:
                    return
                else:
                    self._fork(*request)

    def _fork(self, request: Message, descriptors: list[int]) -> None:
        enclosure = read_enclosure(request["enclosure"])
        program = self._filter(enclosure.leave)
        try:
            pid = os.fork()
        except OSError:
            traceback.print_exc()  # the host hears it too: the session's sockets close unanswered
        else:
            if pid == 0:
                base, channel, stdout, stderr = descriptors
                kept = keeper.Kept(base, channel, stdout, stderr, request, enclosure, program, self._shell)
                _be_session(kept)
        for descriptor in descriptors:
            os.close(descriptor)

    def _filter(self, leave: seccomp.Leave) -> seccomp.Filter:
        if leave not in self._filters:
            self._filters[leave] = seccomp.compile_filter(leave)
        return self._filters[leave]

    def _reap(self) -> None:
        """Bury sessions that ended; the host knows it from their sockets."""
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue


def _be_session(kept: keeper.Kept) -> NoReturn:
    """From here on this is another process: what it was given stays, whatever else was open goes."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _close_all_but({0, 1, 2, kept.base, kept.channel, kept.stdout, kept.stderr})
        try:
            leave_the_machine(kept.enclosure)
        except WallMissing as missing:
            kept.report(missing)
        if kept.enclosure.use_namespaces and os.fork() != 0:
            os._exit(0)  # its child is the first of the new process namespace; the zygote becomes that one's parent
        keeper.keep(kept)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _close_all_but(kept: set[int]) -> None:
    """What is open in the zygote would be open in every session, and shared by all of them."""
    first = 0
    for descriptor in sorted(kept):
        if first < descriptor:  # an empty range that begins at 0 closes everything
            os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, _MOST_DESCRIPTORS)


def read_enclosure(content: dict[str, Any]) -> Enclosure:  # Any: JSON of the host's
    limits = Limits(**content.pop("limits"))
    readable: tuple[str, ...] = tuple(content.pop("readable"))
    return Enclosure(**content, readable=readable, limits=limits)


def main() -> None:
    """Load, say what there is to build walls with, then fork on request. Descriptor 3 is the host's."""
    control = socket.socket(fileno=3)
    gc.disable()  # loading makes no rubbish worth looking for
    not_loaded = [name for name in PRELOADED if not _load(name)]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    zygote = Zygote(control, reading)
    if threading.active_count() != 1:
        sys.exit("a preloaded library started a Python thread: forks of it would not be safe")
    gc.collect()
    gc.enable()
    gc.freeze()  # what is loaded now stays shared: the collector of a fork does not touch it
    _gather_pages()
    send_packets(
        control,
        {
            "ready": True,
            "landlock_abi": landlock.offered_abi(),
            "seccomp": seccomp.is_offered(),
            "address_space_bytes": _address_space_bytes(),
            "python": sys.version.split()[0],
            "not_loaded": not_loaded,
        },
    )
    zygote.serve()


def _load(name: str) -> bool:
    """Import a library; False when something of the system's is missing for it, such as Pango for WeasyPrint."""
    try:
        importlib.import_module(name)
    except (ImportError, OSError):
        traceback.print_exc()
        return False
    return True


def _gather_pages() -> None:
    """Put what is loaded onto huge pages, where the kernel can (6.1): a fork then copies half as many entries."""
    huge = 2 << 20
    with open("/proc/self/maps", encoding="ascii", errors="replace") as file:
        spans = [line.split()[0].split("-") for line in file if " rw-p 00000000 00:00 0" in line]
    for first, last in spans:
        start, end = -(-int(first, 16) // huge) * huge, int(last, 16) // huge * huge
        if start < end:
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


def _address_space_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
