"""Our hold on the peers: a process of their own Python, so that ours never imports Jupyter."""

import json
import os
import socket
import subprocess
from pathlib import Path

from benchmarks.peer_environment import peer_python


class KernelPeers:
    """Asks for one measurement at a time; `peer_kernel` says which there are. Their settings lie in `home`."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self._log = home / "log"
        ours, theirs = socket.socketpair()
        with ours, theirs, self._log.open("w") as log:
            self._lines = ours.makefile("rw", buffering=1)
            self._process = subprocess.Popen(
                [peer_python(), Path(__file__).with_name("peer_kernel.py")],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=log,
                cwd=home,
                env={"HOME": str(home), "LANG": "C.UTF-8", "PATH": os.defpath},
            )

    def measure(self, what: str, **given: object) -> float:
        print(json.dumps({"measure": what, **given}), file=self._lines)
        if not (line := self._lines.readline()):
            raise RuntimeError(f"the peers' process ended while it measured {what}: {self._log.read_text()}")
        return json.loads(line)

    def close(self) -> None:
        """It ends its kernels, and then itself, when nobody can ask it any more."""
        self._lines.close()
        self._process.wait(timeout=30)
