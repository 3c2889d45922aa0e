"""Findings as they go out of the sandbox: plain, bounded, fit for any reader."""

from typing import Any

MOST_CHARACTERS = 200


def found(  # noqa: PLR0913  (a finding's own fields)
    dimension: str, about: str, check: str, score: float, text: str = "", *, required: bool = False
) -> dict[str, Any]:
    return {
        "dimension": dimension,
        "about": plain(about),
        "check": plain(check),
        "score": score,
        "is_required": required,
        "text": plain(text),
    }


def count(number: int, noun: str) -> str:
    """1 row, 2 rows"""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """On one line, without what cannot be printed or encoded, and not too long."""
    line = " ".join(text[: most * 4].split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def name_error(error: BaseException) -> str:
    """The exception's class and its first words."""
    words = plain(str(error), 120)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
