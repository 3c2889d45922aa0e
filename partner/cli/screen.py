"""How things look: tables, sizes, durations and marks, on stdout for data and stderr for people."""

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TextIO

from run_record.plain_text import printable

_UNBROKEN = 1000
_COLOURS = {"✓": "32", "!": "33", "✗": "31"}


def say(text: str) -> None:
    """Tell the person watching."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """A line that says how far long work is: on a terminal only, and gone when the work is done."""

    def __init__(self) -> None:
        self._is_wanted = sys.stderr.isatty()
        self._next_s = time.monotonic() + 0.3

    def show(self, text: str) -> None:
        if self._is_wanted and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + 0.1
            sys.stderr.write(f"\r\033[K{fitted(text, width() - 3)} … ")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_wanted:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def width(stream: TextIO | None = None) -> int:
    """How many characters a line may have where it goes to (stderr, when nothing is named) without being broken."""
    try:
        columns = os.get_terminal_size((stream or sys.stderr).fileno()).columns
    except (OSError, ValueError):  # no terminal: a file or a pipe breaks nothing
        columns = 0
    return columns - 1 if columns else _UNBROKEN


def fitted(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def beside(head: str, text: str, most: int) -> str:
    """Both on one line, or the text on a line of its own where they do not fit."""
    return f"{head}{'   ' if len(head) + 3 + len(text) <= most else chr(10)}{text}"


def print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=1))


def print_table(rows: Iterable[Sequence[str]], *, indent: str = "", numbers: Iterable[int] = ()) -> None:
    """Columns aligned, numbers to the right, and nothing in a cell able to move the cursor."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = set(numbers)
    for row in cells:
        aligned = [
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print(f"{indent}{'  '.join(map(_marked, aligned))}".rstrip())


def _marked(cell: str) -> str:
    """A cell that holds nothing but a mark has its colour."""
    symbol = cell.strip()
    return cell.replace(symbol, mark(symbol)) if symbol in _COLOURS else cell


def mark(symbol: str, stream: TextIO | None = None) -> str:
    """A mark in its colour, where it goes to a terminal (stdout's, when none is named) that wants colour."""
    if not (stream or sys.stdout).isatty() or os.environ.get("NO_COLOR"):
        return symbol
    return f"\033[{_COLOURS[symbol]}m{symbol}\033[0m"


def size(size_bytes: int) -> str:
    """A length as a person says it: 812 B, 1.4 kB, 3.0 GB."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    amount = float(size_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.5 or unit == "TB":
            return f"{amount:.1f} {unit}" if amount < 99.95 else f"{amount:.0f} {unit}"
    raise AssertionError("a unit was found above")


def duration(seconds: float) -> str:
    """A time as a person says it: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, noun: str) -> str:
    """1 file, 2 files, 1,200 files"""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
