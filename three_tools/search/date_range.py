"""The words in which a caller says between which days a document should be from."""

import re
from calendar import monthrange
from datetime import date, timedelta

FORMS = "day, week, month, year, 30d, 2026, 2026-03, 2026-03-31, 2026-01-01..2026-06-30, 2026-01-01.., ..2026-06-30"
_LAST_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_DAYS = re.compile(r"([0-9]{1,5})d")
_SPAN = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def parse_date_range(text: str, today: date) -> tuple[date | None, date | None]:
    """The first and the last day, both included; None where the range is open."""
    given = text.strip().lower()
    try:
        since, until = _parse(given, today)
    except (ValueError, OverflowError):
        raise ValueError(f"date range {text!r} is not understood; forms are: {FORMS}") from None
    if since and until and since > until:
        raise ValueError(f"date range {text!r} starts on {since}, after its end on {until}; swap the two")
    return since, until


def _parse(given: str, today: date) -> tuple[date | None, date | None]:
    if days := _LAST_DAYS.get(given):
        return today - timedelta(days), today
    if counted := _DAYS.fullmatch(given):
        return today - timedelta(int(counted[1])), today
    first, dots, last = (part.strip() for part in given.partition(".."))
    if not dots:
        return _span(first)
    if not first and not last:
        raise ValueError(given)
    return _span(first)[0] if first else None, _span(last)[1] if last else None


def _span(text: str) -> tuple[date, date]:
    """The first and the last day of a year, a month or a day."""
    found = _SPAN.fullmatch(text)
    if not found:
        raise ValueError(text)
    year, month, day = (int(part) if part else None for part in found.groups())
    if year is None or month is None:
        return date(year or 0, 1, 1), date(year or 0, 12, 31)
    first = date(year, month, day or 1)
    return first, first if day else date(year, month, monthrange(year, month)[1])
