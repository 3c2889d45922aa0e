"""Numbers and dates as people read them."""

import math
import re
from datetime import date, datetime
from typing import Any

NO_BREAK = "\u00a0"
MINUS = "\u2212"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LARGE = ((1e12, "tn"), (1e9, "bn"), (1e6, "m"))
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BLANK = "␣"
_JOINERS = "\u200c\u200d"  # parts of letters and of emoji


def amount(value: float | None, unit: str = "") -> str:
    """12,300 · 4.56 · 1.20 m · −€63 · 41 % · 0.00012 · 1.6 × 10⁻⁹; "unknown" for none."""
    if value is None or not math.isfinite(value):
        return "unknown"
    before, after = ("", f"{NO_BREAK}{unit}") if unit == "%" else (unit, "")
    return f"{MINUS if value < 0 else ''}{before}{_size(abs(value))}{after}"


def _size(size: float) -> str:
    if size >= 1e15 or 0 < size < 1e-6:
        digits, power = f"{size:.1e}".split("e")
        return f"{digits.removesuffix('.0')}{NO_BREAK}×{NO_BREAK}10{str(int(power)).translate(_RAISED)}"
    for large, name in _LARGE:
        if size >= large * 0.9995:
            return f"{size / large:,.2f}".removesuffix(".00") + f"{NO_BREAK}{name}"
    if size >= 100 or float(size).is_integer():
        return f"{size:,.0f}"
    if size >= 0.01:
        return f"{size:.2f}"
    return f"{size:.{1 - math.floor(math.log10(size))}f}".rstrip("0")


def count(number: int, noun: str) -> str:
    """1 row, 1,200 rows"""
    return f"{number:,}{NO_BREAK}{noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """0.123 is 12.3 %, 0.23 is 23.0 %; what is there at all is never 0 %, and what is missing never 100 %."""
    shown = share * 100
    if 0 < shown < 0.1:
        return f"under 0.1{NO_BREAK}%"
    if 99.9 < shown < 100:
        return f"over 99.9{NO_BREAK}%"
    return f"{shown:.0f}{NO_BREAK}%" if shown in (0, 100) else f"{shown:.1f}{NO_BREAK}%"


def day(value: Any) -> str:
    """4 Dec 2026, from a date or from 2026-12-04."""
    when = value if isinstance(value, date) else datetime.fromisoformat(str(value))
    return f"{when.day}{NO_BREAK}{_MONTHS[when.month - 1]}{NO_BREAK}{when.year}"


def short(text: str, most: int = 40) -> str:
    """Its beginning when it is longer, cut anywhere: a name without blanks would be gone otherwise."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def visible(text: str) -> str:
    """One line in which blanks that nobody would see are marked, and characters that only steer others are gone."""
    text = "".join(_shown(character) for character in text if not _steers(character))
    return re.sub(r"^ +| +$| {2,}", lambda blanks: _BLANK * len(blanks[0]), text)


def _shown(character: str) -> str:
    return character if character.isprintable() or character in _JOINERS else " "


def _steers(character: str) -> bool:
    """Marks of direction: they could show 29 as 92."""
    return character in "\u061c\u200e\u200f" or "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
