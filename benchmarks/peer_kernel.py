"""Run by the peers' own Python: drives ipykernel, nbclient and papermill, a JSON line in, a JSON line out.

Each answer is a number, measured here: what it costs to ask is no part of it.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What is imported here is installed in the peers' environment, not in ours.
import nbformat  # pyright: ignore[reportMissingImports]
import papermill  # pyright: ignore[reportMissingImports]
from jupyter_client.manager import KernelManager  # pyright: ignore[reportMissingImports]
from nbclient import NotebookClient  # pyright: ignore[reportMissingImports]

_READY_S = 60


class Kernel:
    """An ipykernel and a client that is connected to it."""

    def __init__(self) -> None:
        self._manager = KernelManager()
        self._manager.start_kernel()
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=_READY_S)

    @property
    def pid(self) -> int:
        return self._manager.provisioner.pid

    def run(self, code: str) -> str:
        """Run a cell until its reply is there and the kernel says that it is idle; what it printed."""
        asked = self._client.execute(code)
        printed: list[str] = []
        while True:
            message = self._client.get_iopub_msg(timeout=_READY_S)
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                printed.append(content["text"])
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                break
        reply = self._client.get_shell_msg(timeout=_READY_S)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"a cell failed in the peer's kernel: {reply['content']}")
        return "".join(printed)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


class Peers:
    """What can be asked. One kernel stays up for what needs a warm one."""

    def __init__(self) -> None:
        self._warm = Kernel()

    def close(self) -> None:
        self._warm.close()

    def cold(self, code: str) -> float:
        """Seconds from nothing to the first result."""
        began = time.perf_counter()
        kernel = Kernel()
        kernel.run(code)
        spent = time.perf_counter() - began
        kernel.close()
        return spent

    def warm(self, code: str, size: int = 0) -> float:
        """Seconds of one round trip, in which so many characters are printed."""
        began = time.perf_counter()
        printed = self._warm.run(code)
        spent = time.perf_counter() - began
        if len(printed) != size:
            raise RuntimeError(f"{len(printed)} of {size} characters arrived from the peer's kernel")
        return spent

    def memory(self, code: str) -> float:
        """Bytes that a fresh kernel has for itself after this cell."""
        kernel = Kernel()
        kernel.run(code)
        lines = Path(f"/proc/{kernel.pid}/smaps_rollup").read_text().splitlines()
        kernel.close()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))

    def nbclient(self, cells: list[str]) -> float:
        notebook = _notebook(cells)
        began = time.perf_counter()
        NotebookClient(notebook).execute()
        return time.perf_counter() - began

    def papermill(self, cells: list[str]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            given, made = f"{folder}/given.ipynb", f"{folder}/made.ipynb"
            nbformat.write(_notebook(cells), given)
            began = time.perf_counter()
            papermill.execute_notebook(given, made, progress_bar=False, cwd=folder)
            return time.perf_counter() - began


def _notebook(cells: list[str]) -> Any:  # Any: nbformat's
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = [nbformat.v4.new_code_cell(code) for code in cells]
    return nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel})


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # kernels inherit it, and may print
    peers = Peers()
    try:
        for line in sys.stdin:
            request = json.loads(line)
            measure: Callable[..., float] = getattr(peers, request.pop("measure"))
            print(json.dumps(measure(**request)), file=answers)
    finally:
        peers.close()


if __name__ == "__main__":
    main()
