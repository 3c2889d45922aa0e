"""Looking for changes among ten thousand files that have not changed."""

import hashlib
import os
import tempfile
import time
from pathlib import Path

from benchmarks.figure import Figure, in_turns, report
from run_record import Call, Home, Question

FILES = 10_000
SIZE_BYTES = 64 * 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = Home(Path(folder) / "home").create_run(Question(by="bench"))
        root = record.workspace.root
        for number in range(FILES):
            path = root / f"{number % 100:02}" / f"{number}.bin"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(os.urandom(SIZE_BYTES))
        time.sleep(0.1)  # beyond the clock's tick, as files of a step before are
        record.record_step(Call(tool="sandbox.exec"))
        detector = record._detector  # pyright: ignore[reportPrivateUsage]
        look, hash_all = in_turns([lambda: detector.look(record.state), lambda: _hash_all(root)], 7)
    report(
        "change_detection",
        f"Change detection over {FILES:,} unchanged files of {SIZE_BYTES // 1024} KB",
        [Figure("looking for changes", look, "hashing every file", hash_all, 0.1)],
    )


def _hash_all(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()
