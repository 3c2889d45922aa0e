"""A measured ratio beside its target, and the page it is reported on."""

import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured: ours and a peer's, both in one unit, and the most that their ratio should be."""

    what: str
    ours: float
    peer: str
    theirs: float
    target: float | None = None
    unit: Literal["seconds", "bytes"] = "seconds"

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

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
    """The median seconds of each call, measured in turns."""
    return medians([partial(seconds, call) for call in calls], rounds)


def medians(measures: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of what each measure gives, in turns and in changing order: a slow minute hits all of them alike,
    and so does what one of them leaves to the next, such as a busy disk."""
    found: list[list[float]] = [[] for _ in measures]
    order = list(range(len(measures)))
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for i in order:
            found[i].append(measures[i]())
    return [statistics.median(values) for values in found]


def report(name: str, title: str, figures: Sequence[Figure], remarks: Sequence[str] = ()) -> None:
    """Print a benchmark's figures and keep them with the machine and the date."""
    rows = [
        f"| {f.what} | {_amount(f.ours, f.unit)} | {f.peer} | {_amount(f.theirs, f.unit)} | {f.ratio:.3g} | "
        f"{'–' if f.target is None else f'≤ {f.target:.3g}'} | {f.verdict} |"
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


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1e6:.3g} MB"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
