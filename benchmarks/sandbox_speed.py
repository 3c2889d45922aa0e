"""The sandbox against Jupyter's kernel and clients: starting, a warm cell, a checkpoint, output, memory."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks.figure import Figure, medians, report, seconds
from benchmarks.footprint import Footprint, session_pids, unique_bytes
from benchmarks.kernel_peers import KernelPeers
from benchmarks.measured_host import Bench, run, stop
from sandbox import JailSession, LocalJail

IMPORTS = "import pandas, statsmodels.api, matplotlib.pyplot"
TABLE = "import pandas as pd; pd.DataFrame({'a': range(1000)}).describe()"
NOTEBOOK = ["a = 1", "b = a + 1", "print(a, b)", "c = [a, b]", "sum(c)", "d = dict(c=c)", "d", "len(d)"]
OUTPUT_BYTES = 10_000_000
FLOODS = {
    "10 MB in one print": f"print('x' * {OUTPUT_BYTES - 1})",
    "10 MB in 100,000 lines": f"for _ in range({OUTPUT_BYTES // 100}): print('x' * 99)",
}
FORKS = """
import os, statistics, time
def fork_s():
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return time.perf_counter() - began
print(statistics.median(fork_s() for _ in range(5)))
"""
FILES = 20
SESSIONS = 200


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)  # sessions have users of their own
        jail = LocalJail(folder / "home")
        try:
            with closing(KernelPeers(folder / "peers")) as peers:
                figures, remarks = _measure(Bench(folder, jail, peers))
        finally:
            stop(jail)
    report("sandbox_speed", "Cells in the sandbox, and in Jupyter's kernel", figures, remarks)


def _measure(bench: Bench) -> tuple[list[Figure], list[str]]:
    parts = (_starts, _warm_cells, _checkpoints, _floods, _memory, _notebooks)
    figures = [figure for part in parts for figure in part(bench)]
    return figures, [
        f"A cell's time includes the look for changes among {FILES} files and the observation of what it reads.",
        "Jupyter's kernel and clients run the same Python and the same versions of the libraries.",
        "A session's memory is that of all its processes, which root alone can read; the peer's is its kernel's alone.",
        _flatness(bench),
    ]


def _starts(bench: Bench) -> list[Figure]:
    other = LocalJail(bench.folder / "other-home")
    peer = "jupyter_client and ipykernel from nothing, the same imports"
    bench.peers.measure("cold", code=IMPORTS)  # the first one makes caches
    _new_session(bench)
    session, host, cold = medians(
        [lambda: _new_session(bench), lambda: _new_host(other), lambda: bench.peers.measure("cold", code=IMPORTS)], 7
    )
    return [
        Figure("a new session, to pandas, statsmodels and matplotlib imported", session, peer, cold, 1 / 50),
        Figure("the first start of a host, before any session", host, peer, cold),
    ]


def _new_session(bench: Bench) -> float:
    spec = bench.specify()
    began = time.perf_counter()
    with closing(bench.jail.open_session(spec)) as session:
        run(session, IMPORTS)
        return time.perf_counter() - began


def _new_host(jail: LocalJail) -> float:
    try:
        return seconds(jail.start)
    finally:
        stop(jail)


def _warm_cells(bench: Bench) -> list[Figure]:
    with bench.session(FILES) as session:
        ours, theirs = medians(
            [lambda: seconds(lambda: run(session, "1+1")), lambda: bench.peers.measure("warm", code="1+1")], 200
        )
    return [Figure(f"a warm cell, 1+1, beside {FILES} files", ours, "ipykernel, until it is idle again", theirs, 1 / 4)]


def _checkpoints(bench: Bench) -> list[Figure]:
    with bench.session(FILES) as session:
        timed: list[Callable[[], float]] = [
            partial(seconds, partial(run, session, "1+1", policy)) for policy in ("on", "off")
        ]
        on, off, fork = medians([*timed, lambda: float(run(session, FORKS).text("stdout"))], 100)
    return [Figure("what a checkpoint adds to a cell", on - off, "a bare fork and wait in the same process", fork, 2)]


def _floods(bench: Bench) -> list[Figure]:
    figures: list[Figure] = []
    with bench.session() as session:
        for what, code in FLOODS.items():
            ours, theirs = medians(
                [
                    partial(_flood, session, code),
                    partial(bench.peers.measure, "warm", code=code, size=OUTPUT_BYTES),
                ],
                9,
            )
            figures.append(Figure(what, ours, "ipykernel, until all has arrived", theirs, 1))
    return figures


def _flood(session: JailSession, code: str) -> float:
    began = time.perf_counter()
    printed = run(session, code).text("stdout")
    spent = time.perf_counter() - began
    if len(printed) != OUTPUT_BYTES:
        raise RuntimeError(f"{len(printed)} of {OUTPUT_BYTES} characters arrived from the sandbox")
    return spent


def _memory(bench: Bench) -> list[Figure]:
    if os.geteuid() != 0:
        return []  # the first process of a session hides its memory from its own user
    ours, theirs = medians([lambda: _session_bytes(bench), lambda: bench.peers.measure("memory", code=TABLE)], 5)
    return [Figure("memory of its own, after a pandas cell", ours, "ipykernel's process", theirs, 1 / 15, "bytes")]


def _session_bytes(bench: Bench) -> int:
    others = session_pids(bench.host)
    with closing(bench.jail.open_session(bench.specify())) as session:
        run(session, TABLE, "auto")
        return unique_bytes(session_pids(bench.host) - others)


def _notebooks(bench: Bench) -> list[Figure]:
    peers = ("nbclient", "papermill")
    measured = [partial(bench.peers.measure, peer, cells=NOTEBOOK) for peer in peers]
    ours, *theirs = medians([lambda: _notebook(bench), *measured], 5)
    what = f"a notebook of {len(NOTEBOOK)} small cells, with checkpoints"
    return [Figure(what, ours, peer, spent) for peer, spent in zip(peers, theirs, strict=True)]


def _notebook(bench: Bench) -> float:
    spec = bench.specify()
    began = time.perf_counter()
    with closing(bench.jail.open_session(spec)) as session:
        for code in NOTEBOOK:
            run(session, code, "auto")
    return time.perf_counter() - began


def _flatness(bench: Bench) -> str:
    """A sentence about what sessions leave behind, once the first few have been."""
    for _ in range(20):
        _new_session(bench)
    before = _settled(bench)
    for _ in range(SESSIONS):
        _new_session(bench)
    after = _settled(bench)
    return (
        f"flat: over {SESSIONS} sessions, opened, used and closed, "
        f"the host's memory went from {before.host_bytes / 1e6:.1f} to {after.host_bytes / 1e6:.1f} MB, "
        f"the zygote's from {before.zygote_bytes / 1e6:.1f} to {after.zygote_bytes / 1e6:.1f} MB, "
        f"the host's open files from {before.open_files} to {after.open_files}, "
        f"its threads from {before.threads} to {after.threads}, "
        f"the sessions' processes from {before.processes} to {after.processes}."
    )


def _settled(bench: Bench) -> Footprint:
    time.sleep(1)  # the last session's end is not waited for by who closed it
    return Footprint.of(bench.host)
