"""A cell's outputs on a terminal."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

from partner.cli.screen import Progress, duration, say, size
from run_record.plain_text import printable
from sandbox import Output

_TICK_S = 0.5


def show_output(output: Output) -> None:
    """One output, with nothing in it able to move the cursor."""
    match output:
        case {"output_type": "stream", "name": name, "text": text}:
            stream = sys.stdout if name == "stdout" else sys.stderr
            stream.write("\n".join(map(printable, text.split("\n"))))
            stream.flush()
        case {"output_type": "error", "traceback": lines}:
            say("\n".join(map(printable, "".join(lines).rstrip().split("\n"))))
        case {"data": data}:
            for mime, value in data.items():
                if mime.startswith("image/"):
                    print(f"[{mime}, {size(len(value) * 3 // 4)}]")
            if "text/plain" in data and not any(mime.startswith("image/") for mime in data):
                print("\n".join(map(printable, str(data["text/plain"]).split("\n"))))
        case _:
            return


class CellScreen:
    """Shows what a cell shows, as it comes, and while nothing comes for how long it has been running.

    A screen that cannot be written to does not stop the cell: what went wrong is kept in `failure`.
    """

    def __init__(self) -> None:
        self.failure: OSError | None = None
        self._progress = Progress()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._tell_time, name="cell screen", daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over.set()
        self._watch.join()
        self._progress.clear()

    def take(self, output: Output) -> None:
        if self.failure is not None:
            return
        with self._lock:
            self._progress.clear()
            try:
                show_output(output)
            except OSError as error:
                self.failure = error

    def _tell_time(self) -> None:
        began = time.monotonic()
        while not self._is_over.wait(_TICK_S):
            with self._lock:
                self._progress.show(f"running, {duration(time.monotonic() - began)}")
