"""A sandbox host to be measured, and the sessions in it."""

import itertools
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from benchmarks.kernel_peers import KernelPeers
from sandbox import Cell, CellResult, CheckpointPolicy, JailSession, Limits, LocalJail, SandboxFailed, SessionSpec


class Bench:
    """A sandbox host in a folder of its own, and the peers."""

    def __init__(self, folder: Path, jail: LocalJail, peers: KernelPeers) -> None:
        self.folder = folder
        self.jail = jail
        self.peers = peers
        self.host = jail.start()
        self._numbers = itertools.count()

    def specify(self, files: int = 0) -> SessionSpec:
        """A session that is new, in a folder with so many files."""
        name = f"s{next(self._numbers)}"
        work = self.folder / name
        work.mkdir()
        for number in range(files):
            (work / f"file-{number}").write_text("x")
        return SessionSpec(name=name, work=str(work), limits=Limits(output_bytes=64 << 20))

    @contextmanager
    def session(self, files: int = 0) -> Iterator[JailSession]:
        """A warm one."""
        with closing(self.jail.open_session(self.specify(files))) as session:
            for _ in range(5):
                run(session, "1+1")
            yield session


def run(session: JailSession, code: str, checkpoint: CheckpointPolicy = "off") -> CellResult:
    result = session.run(Cell(code=code, checkpoint=checkpoint))
    if not result.ok or (checkpoint == "on" and result.checkpoint != "on"):
        raise RuntimeError(f"a cell did not run as asked: {result}")
    return result


def stop(jail: LocalJail) -> None:
    """End a host, and wait until it has gone."""
    jail.stop()
    with suppress(SandboxFailed):  # it went while it was asked
        while jail.status() is not None:
            time.sleep(0.05)
