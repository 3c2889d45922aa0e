"""Date ranges as callers write them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from three_tools.search.date_range import parse_date_range

TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("day", "2026-11-17", "2026-11-18"),
        ("week", "2026-11-11", "2026-11-18"),
        (" Month ", "2026-10-19", "2026-11-18"),
        ("year", "2025-11-18", "2026-11-18"),
        ("7d", "2026-11-11", "2026-11-18"),
        ("0d", "2026-11-18", "2026-11-18"),
        ("2026-01-01..2026-06-30", "2026-01-01", "2026-06-30"),
        ("2026-01-01 .. 2026-01-01", "2026-01-01", "2026-01-01"),
        ("2026-01-01..", "2026-01-01", None),
        ("..2026-06-30", None, "2026-06-30"),
        ("2025-11..2026-02", "2025-11-01", "2026-02-28"),
        ("2026", "2026-01-01", "2026-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-03-31", "2026-03-31", "2026-03-31"),
    ],
)
def test_a_range_is_its_first_and_its_last_day(text: str, since: str | None, until: str | None) -> None:
    """Each form gives the first and the last day that count."""
    days = tuple(day and date.fromisoformat(day) for day in (since, until))
    assert parse_date_range(text, TODAY) == days


@pytest.mark.parametrize(
    "text",
    ["", "..", "decade", "7", "7w", "-7d", "2026-13", "2026-02-30", "0000", "2026-1-1", "99999999d", "1..2..3", "²d"],
)
def test_what_is_not_understood_is_named(text: str) -> None:
    """The error names the value and every form that is understood."""
    with pytest.raises(ValueError, match="forms are: day, week") as caught:
        parse_date_range(text, TODAY)
    assert repr(text) in str(caught.value)


def test_a_range_that_ends_before_it_starts_is_refused() -> None:
    """A range whose end is before its start is refused with both days."""
    with pytest.raises(ValueError, match="starts on 2026-06-30, after its end on 2026-01-31"):
        parse_date_range("2026-06-30..2026-01", TODAY)


@given(st.text("0123456789d.-wek ", max_size=24) | st.text(max_size=12))
def test_any_text_gives_a_range_or_a_reason(text: str) -> None:
    """Any text whatever gives days in order or a ValueError."""
    try:
        since, until = parse_date_range(text, TODAY)
    except ValueError:
        return
    assert since is not None or until is not None
    assert since is None or until is None or since <= until
