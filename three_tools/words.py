"""Figures as the record's sentences say them."""

from collections.abc import Sequence

_NAMED = 3


def count(number: int, noun: str) -> str:
    """1 file, 2 files, 1,200 files"""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seconds(amount: float) -> str:
    """0.004 s, 0.41 s, 12.3 s"""
    return f"{amount:.1f} s" if amount >= 10 else f"{amount:.2g} s"


def names(items: Sequence[str]) -> str:
    """a.csv, b.csv, c.csv and 4 more"""
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return ", ".join(items[:_NAMED]) + more
