"""A measured ratio beside its target, and the page it is reported on."""

import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured: ours and a peer's seconds, and the most that their ratio should be."""

    what: str
    ours_s: float
    peer: str
    peer_s: float
    target: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours_s / self.peer_s

    @property
    def verdict(self) -> str:
        if self.target is None:
            return "reported"
        return "met" if self.ratio <= self.target else "missed"


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median seconds of each call, measured in turns and in changing order: a slow minute hits all of them alike,
    and so does what one of them leaves to the next, such as a busy disk."""
    times: list[list[float]] = [[] for _ in calls]
    order = list(range(len(calls)))
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for i in order:
            times[i].append(seconds(calls[i]))
    return [statistics.median(spent) for spent in times]


def report(name: str, title: str, figures: Sequence[Figure], remarks: Sequence[str] = ()) -> None:
    """Print a benchmark's figures and keep them with the machine and the date."""
    rows = [
        f"| {f.what} | {_time(f.ours_s)} | {f.peer} | {_time(f.peer_s)} | {f.ratio:.3g} | "
        f"{'–' if f.target is None else f'≤ {f.target:g}'} | {f.verdict} |"
        for f in figures
    ]
    system = f"Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"
    lines = [
        f"# {title}",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {_processor()}, {system}. Medians, measured in turns.",
        "",
        "| what | ours | peer in the same run | peer | ratio | target | |",
        "|---|---|---|---|---|---|---|",
        *rows,
        *(f"\n{remark}" for remark in remarks),
    ]
    text = "\n".join(lines) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
