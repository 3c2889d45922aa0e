"""What is expected of a table's columns, tallied value by value or batch by batch."""

import math
import re
from datetime import date, datetime
from typing import Any

_MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "<na>", "nat"))
_TRUTHS = frozenset(("true", "false", "yes", "no"))
_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?")


class Tally:
    """One column: how many values are missing, how many are not of its kind, between what they lie."""

    def __init__(self, kind: str = "any") -> None:
        self.kind = kind
        self.missing = 0
        self.wrong: str | None = None
        """The first value that is not of the kind."""
        self.least: float | None = None
        self.most: float | None = None

    def take(self, value: Any) -> None:  # Any: a cell of a workbook, or text
        if is_missing(value):
            self.missing += 1
            return
        if self.wrong is None and not fits(self.kind, value):
            self.wrong = repr(value)[:40]
        if (number := as_number(value)) is not None:
            self.take_bounds(number, number)

    def take_bounds(self, least: float, most: float) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)


def is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def fits(kind: str, value: Any) -> bool:
    """Whether a value, or the text of one, is of a kind."""
    is_text = isinstance(value, str)
    if kind == "number":
        return as_number(value) is not None
    if kind == "integer":
        return bool(_INTEGER.fullmatch(value.strip())) if is_text else as_number(value) in (0, 1) or _is_whole(value)
    if kind == "date":
        return _is_date(value) if is_text else isinstance(value, date)
    if kind == "boolean":
        return value.strip().lower() in _TRUTHS if is_text else isinstance(value, bool)
    return is_text or kind == "any"


def _is_whole(value: Any) -> bool:
    number = as_number(value)
    return number is not None and math.isfinite(number) and number == int(number)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return bool(re.fullmatch(r"\d{4}-(?:0[1-9]|1[0-2]|[qQ][1-4])", text.strip()))
    return True


def wanted(file: Any) -> dict[str, str]:
    """The columns that any expectation of a file speaks of, and their kinds."""
    kinds: dict[str, str] = {}
    for expected in file.expects:
        for name in (*expected["no_nan"], *expected["ranges"]):
            kinds.setdefault(name, "any")
        for name, kind in expected["columns"].items():
            if kinds.get(name, "any") == "any":
                kinds[name] = kind
    return kinds


def judge(file: Any, rows: int, columns: int, tallies: dict[str, Tally]) -> list[dict[str, Any]]:
    """The findings of a table that was read wholly; a tally stands for each wanted column that is there."""
    findings = [file.found("opens", 1, f"{rows} rows × {columns} columns"), *_rows(file, rows)]
    absent = [name for name in wanted(file) if name not in tallies]
    findings += [file.found("columns", 0, f"column {name!r} is missing", required=True) for name in absent]
    for expected in file.expects:
        for name in expected["columns"]:
            findings += _kind(file, name, tallies.get(name))
        for name in expected["no_nan"]:
            if (tally := tallies.get(name)) is not None:
                text = f"column {name!r} lacks {tally.missing} of {rows} values" if tally.missing else ""
                findings.append(file.found("missing values", float(not tally.missing), text, required=True))
        for name, bounds in expected["ranges"].items():
            findings += _range(file, name, bounds, tallies.get(name))
    return findings


def _rows(file: Any, rows: int) -> list[dict[str, Any]]:
    declared = [expected["min_rows"] for expected in file.expects if expected["min_rows"] is not None]
    least = max(declared, default=1)
    text = "" if rows >= least else f"{rows}, at least {least} expected"
    return [file.found("rows", float(rows >= least), text, required=bool(declared))]


def _kind(file: Any, name: str, tally: Tally | None) -> list[dict[str, Any]]:
    if tally is None:
        return []
    text = "" if tally.wrong is None else f"column {name!r} is to be {tally.kind}, and has {tally.wrong}"
    return [file.found("columns", float(tally.wrong is None), text, required=True)]


def _range(file: Any, name: str, bounds: dict[str, float | None], tally: Tally | None) -> list[dict[str, Any]]:
    if tally is None:
        return []
    if tally.least is None or tally.most is None:
        return [file.found("range", 0, f"column {name!r} has no numbers", required=True)]
    text = ""
    if bounds["least"] is not None and tally.least < bounds["least"]:
        text = f"column {name!r} has {tally.least:g}, at least {bounds['least']:g} is allowed"
    elif bounds["most"] is not None and tally.most > bounds["most"]:
        text = f"column {name!r} has {tally.most:g}, at most {bounds['most']:g} is allowed"
    return [file.found("range", float(not text), text, required=True)]
