"""What is expected of a table's columns, tallied value by value or batch by batch."""

import math
import re
from datetime import date, datetime
from typing import Any

from .found import count

_MISSING = frozenset(
    ("", "nan", "na", "n/a", "null", "none", "<na>", "nat", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan")
)
"""Texts that pandas reads as missing; Excel's errors, such as #N/A and #DIV/0!, count as well."""
_EXCEL_ERROR = re.compile(r"#(?:N/A|NA|N/A N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)", re.IGNORECASE)
_TRUTHS = frozenset(("true", "false", "yes", "no"))
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?", re.ASCII)
_MONTH_OR_QUARTER = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])|\d{4}-?[qQ][1-4]", re.ASCII)


class Tally:
    """One column: how many values are missing, how many are not of its kind, between what they lie."""

    def __init__(self, kind: str = "any") -> None:
        self.kind = kind
        self.missing = 0
        self.wrong: str | None = None
        """The first value that is not of the kind."""
        self.unbounded: str | None = None
        """The first value that is no number, and so lies in no range."""
        self.least: float | None = None
        self.most: float | None = None

    def take(self, value: Any) -> None:  # Any: a cell of a workbook, or a field of a record
        """A value that has a type of its own: the text of a number is no number."""
        self._take(value, fits(self.kind, value), as_number(value))

    def take_text(self, text: str | None) -> None:
        """A field of a file where all is text: it is of the kind that it reads as."""
        self._take(text, text is not None and reads_as(self.kind, text), read_number(text or ""))

    def _take(self, value: Any, is_of_kind: bool, number: float | None) -> None:
        if is_missing(value):
            self.missing += 1
            return
        if self.wrong is None and not is_of_kind:
            self.wrong = repr(value)[:40]
        if number is not None:
            self.take_bounds(number, number)
        elif self.unbounded is None:
            self.unbounded = repr(value)[:40]

    def take_bounds(self, least: float, most: float) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)


def is_missing(value: Any) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return text.lower() in _MISSING or bool(_EXCEL_ERROR.fullmatch(text))
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
    return None if math.isnan(number) else number


def read_number(text: str) -> float | None:
    """As pandas reads it: Python alone would take 1_000 and the digits of every script."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def fits(kind: str, value: Any) -> bool:
    """Whether a value is of a kind. A date may be text, for JSON has no other."""
    if kind == "number":
        return as_number(value) is not None
    if kind == "integer":
        return (number := as_number(value)) is not None and (isinstance(value, int) or number.is_integer())
    if kind == "date":
        return _is_date(value) if isinstance(value, str) else isinstance(value, date)
    if kind == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) or kind == "any"


def reads_as(kind: str, text: str) -> bool:
    """Whether a text can be read as a value of a kind."""
    if kind == "number":
        return read_number(text) is not None
    if kind == "integer":
        return bool(_INTEGER.fullmatch(text.strip()))
    if kind == "boolean":
        return text.strip().lower() in _TRUTHS
    return fits(kind, text)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return bool(_MONTH_OR_QUARTER.fullmatch(text.strip()))
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
    findings = [file.found("opens", 1, f"{count(rows, 'row')} × {count(columns, 'column')}"), *_rows(file, rows)]
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
            findings += _range(file, name, bounds, tallies.get(name), rows)
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


def _range(
    file: Any, name: str, bounds: dict[str, float | None], tally: Tally | None, rows: int
) -> list[dict[str, Any]]:
    if tally is None:
        return []
    if not rows:
        return [file.found("range", 1, required=True)]
    if tally.least is None or tally.most is None:
        return [file.found("range", 0, f"column {name!r} has no numbers", required=True)]
    text = ""
    if tally.unbounded is not None:
        text = f"column {name!r} has {tally.unbounded}, which is no number"
    elif bounds["least"] is not None and tally.least < bounds["least"]:
        text = f"column {name!r} has {tally.least:g}, at least {bounds['least']:g} is allowed"
    elif bounds["most"] is not None and tally.most > bounds["most"]:
        text = f"column {name!r} has {tally.most:g}, at most {bounds['most']:g} is allowed"
    return [file.found("range", float(not text), text, required=True)]
