"""Numbers and dates as people read them."""

import math
from datetime import date, datetime
from typing import Any

NO_BREAK = "\u00a0"
MINUS = "\u2212"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LARGE = ((1e12, "tn"), (1e9, "bn"), (1e6, "m"))


def amount(value: float | None) -> str:
    """12,300 · 4.56 · 1.20 m · −63 · 0.00012; "unknown" for none."""
    if value is None or not math.isfinite(value):
        return "unknown"
    sign = MINUS if value < 0 else ""
    size = abs(value)
    for unit, name in _LARGE:
        if size >= unit * 0.9995:
            return f"{sign}{size / unit:,.2f}{NO_BREAK}{name}"
    if size >= 100 or float(size).is_integer():
        return f"{sign}{size:,.0f}"
    if size >= 0.01:
        return f"{sign}{size:.2f}"
    return f"{sign}{size:.2g}"


def count(number: int, noun: str) -> str:
    """1 row, 1,200 rows"""
    return f"{number:,}{NO_BREAK}{noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """0.123 is 12.3 %; what is there at all is never 0 %, and what is missing never 100 %."""
    shown = share * 100
    if 0 < shown < 0.1:
        return f"under 0.1{NO_BREAK}%"
    if 99.9 < shown < 100:
        return f"over 99.9{NO_BREAK}%"
    return f"{shown:.0f}{NO_BREAK}%" if float(shown).is_integer() else f"{shown:.1f}{NO_BREAK}%"


def day(value: Any) -> str:
    """4 Dec 2026, from a date or from 2026-12-04."""
    when = value if isinstance(value, date) else datetime.fromisoformat(str(value))
    return f"{when.day}{NO_BREAK}{_MONTHS[when.month - 1]}{NO_BREAK}{when.year}"
