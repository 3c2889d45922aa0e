"""Putting a gigabyte into the object store and back, against cp, sync and sha256sum."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure, report, seconds
from run_record import Artifact, Home, Question

SIZE_BYTES = 1_000_000_000
ROUNDS = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder / "source")
        rounds = [_round(folder, Home(folder / f"home-{number}")) for number in range(ROUNDS)]
        memory = {size: _peak_memory(folder, size) for size in (1_000_000, SIZE_BYTES)}
    put, restore, peer = (statistics.median(times) for times in zip(*rounds, strict=True))
    report(
        "object_store",
        "Object store, 1 GB of random bytes",
        [
            Figure("put (copy, hash, fsync, name)", put, "cp + sync + sha256sum", peer, 1.3),
            Figure("restore (copy, verify)", restore, "cp + sync + sha256sum", peer, 1.3),
        ],
        [
            f"Peak memory of a process that puts 1 MB: {memory[1_000_000]} MB; 1 GB: {memory[SIZE_BYTES]} MB.",
            "A restored file is not synced: the object it came from is.",
        ],
    )


def _round(folder: Path, home: Home) -> tuple[float, float, float]:
    """Seconds to put, to restore, and for the peer; each starts with nothing left to write back."""
    record = home.create_run(Question(by="bench"))
    source, copy = folder / "source", folder / "copy"
    peer_s = seconds(lambda: _copy_sync_hash(source, copy))
    copy.unlink()
    _settle(folder)
    found: list[tuple[int, str]] = []
    with source.open("rb") as file:
        put_s = seconds(lambda: found.append(home.objects.put(file.fileno())))
    _settle(folder)
    size, sha256 = found[0]
    artifact = Artifact.model_validate({"path": "back", "size": size, "sha256": sha256})
    restore_s = seconds(lambda: record.workspace.restore(artifact, home.objects))
    shutil.rmtree(home.root)
    _settle(folder)
    return put_s, restore_s, peer_s


def _settle(folder: Path) -> None:
    subprocess.run(["sync", "-f", folder], check=True)


def _fill(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(SIZE_BYTES // 1_000_000):
            file.write(os.urandom(1_000_000))
        file.flush()
        os.fsync(file.fileno())


def _copy_sync_hash(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--reflink=auto", source, target], check=True)
    subprocess.run(["sync", target], check=True)
    subprocess.run(["sha256sum", target], check=True, stdout=subprocess.DEVNULL)


def _peak_memory(folder: Path, size: int) -> int:
    """Megabytes, of a process of its own."""
    code = (
        "import sys, resource; from pathlib import Path; from run_record import ObjectStore\n"
        "store = ObjectStore.create(Path(sys.argv[1]))\n"
        "with open(sys.argv[2], 'rb') as file: store.put(file.fileno())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000)"
    )
    part = folder / "part"
    with (folder / "source").open("rb") as source, part.open("wb") as target:
        os.sendfile(target.fileno(), source.fileno(), 0, size)
    command = [sys.executable, "-c", code, folder / f"store-{size}", part]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
