"""Reads documents that a parser may choke on in a process of its own, which ends when one takes too long."""

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import PurePath

from three_tools.search.documents import Document, read_document
from three_tools.search.packed_text import UnreadableFile

LONGEST_S = 60.0
MEMORY_BYTES = 2_000_000_000
_AT_ONCE = {".md", ".markdown", ".txt", ".csv"}
"""Kinds that take a time in proportion to their size; all others can be small and take hours, or all memory."""


class DocumentReader:
    """Starts the process at the first file that needs it, and again after one that it did not survive."""

    def __init__(self, longest_s: float = LONGEST_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self._longest_s = longest_s
        self._memory_bytes = memory_bytes
        self._worker: tuple[subprocess.Popen[bytes], Connection] | None = None

    def read(self, name: str, data: bytes) -> Document:
        """The document in a file of this name. Raises UnreadableFile with the reason."""
        suffix = PurePath(name).suffix.lower()
        if suffix in _AT_ONCE:
            return read_document(name, data)
        process, link = self._worker = self._worker or _start(self._longest_s, self._memory_bytes)
        try:
            link.send_bytes(os.fsencode(name))
            link.send_bytes(data)
            answer = json.loads(link.recv_bytes())
        except (EOFError, OSError):
            self.close()
            late = process.returncode == -signal.SIGALRM
            why = f"reading it took over {self._longest_s:g} s" if late else "reading it took too much memory"
            raise UnreadableFile(why) from None
        if isinstance(answer, str):
            raise UnreadableFile(answer)
        return Document(**answer)

    def close(self) -> None:
        if self._worker:
            process, link = self._worker
            self._worker = None
            link.close()
            process.wait()


def _start(longest_s: float, memory_bytes: int) -> tuple[subprocess.Popen[bytes], Connection]:
    """The process sees nothing of our environment, which may hold a key, and no Ctrl-C, which is for us."""
    theirs, ours = _pair()
    process = subprocess.Popen(  # noqa: S603 -- our own interpreter and our own module
        [sys.executable, "-P", "-m", __name__, str(theirs), str(longest_s), str(memory_bytes)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # a parser without memory says so at length
        pass_fds=(theirs,),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


def _pair() -> tuple[int, Connection]:
    from multiprocessing import Pipe

    ours, theirs = Pipe()
    with theirs:
        return os.dup(theirs.fileno()), ours


def main(descriptor: int, longest_s: float, memory_bytes: int) -> None:
    """Answer until there is nobody who asks. The alarm ends us whatever we are in, also when nobody waits any more."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    with Connection(descriptor) as link:
        while True:
            try:
                name, data = os.fsdecode(link.recv_bytes()), link.recv_bytes()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_REAL, longest_s)
            answer = _answer(name, data)
            signal.setitimer(signal.ITIMER_REAL, 0)
            link.send_bytes(answer)


def _answer(name: str, data: bytes) -> bytes:
    try:
        return json.dumps(asdict(read_document(name, data))).encode()
    except UnreadableFile as error:
        return json.dumps(str(error)).encode()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
