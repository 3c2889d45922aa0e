"""How a table of text is read: its encoding, its delimiter, and what its words mean. Standard library only.

The check of a recipe's inputs and the cells that read them both use it, so that they agree.
"""

import codecs
import csv
import math
import re
from collections import Counter
from datetime import date

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "–", "#n/a"})
_BOOLEANS = frozenset({"true", "false", "yes", "no", "0", "1"})
_DELIMITERS = ",;\t|"
_UNITS = "€$£%"
_NUMBER = re.compile(
    r"[-+−]?[€$£]?\s?[-+−]?(?:\d+|\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+)?(?:[.,]\d+)?(?:[eE][-+]?\d+)?\s?[%€$£]?"
)
_DATE = re.compile(
    r"(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|(\d{1,2})([./])(\d{1,2})\5(\d{4})"
)
_SAMPLE_LINES = 20


class NotText(ValueError):
    """Bytes that are no text in any encoding we read."""


def encoding_of(head: bytes) -> str:
    """utf-8-sig, utf-16, utf-16-le, utf-16-be or cp1252: what these first bytes are written in."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        return _wide_encoding(head)
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(head)  # a character may be cut at the end
        return "utf-8-sig"
    except UnicodeDecodeError as error:
        try:
            head.decode("cp1252")
        except UnicodeDecodeError:
            raise NotText(
                f"byte {error.start} (0x{head[error.start]:02x}) is text neither in UTF-8 nor in Windows-1252"
            ) from None
        return "cp1252"


def _wide_encoding(head: bytes) -> str:
    """Text in UTF-16 without a mark has its zeros in every other byte."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even == 0:
        return "utf-16-le"
    if even > 0.4 * len(head) / 2 and odd == 0:
        return "utf-16-be"
    raise NotText(f"byte {head.index(0)} is zero: the file is not text")


def delimiter_of(text: str) -> str:
    """The delimiter that splits the first lines most evenly; a comma when there is none."""
    lines = [line for line in text.splitlines()[:_SAMPLE_LINES] if line.strip()]
    if len(lines) == _SAMPLE_LINES:
        lines.pop()  # it may be cut
    return max(_DELIMITERS, key=lambda mark: (_evenness(lines, mark), -_DELIMITERS.index(mark)))


def _evenness(lines: list[str], mark: str) -> tuple[float, int]:
    """How many rows have as many fields as most have, and how many fields those are."""
    widths = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
    if not widths:
        return (0.0, 0)
    width, count = Counter(widths).most_common(1)[0]
    return (0.0, 0) if width < 2 else (round(count / len(widths), 1), width)


def is_missing(text: str) -> bool:
    return text.strip().casefold() in MISSING


def as_number(text: str) -> float | None:
    """1200.5, 1,200.50, 1.200,50, 1 200, €1,200 and 12 % are numbers."""
    stripped = text.strip()
    if not any(character.isdigit() for character in stripped) or not _NUMBER.fullmatch(stripped):
        return None
    digits = re.sub(r"[€$£%\s'\u00a0\u202f]", "", stripped).replace("−", "-")
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma > point:  # the last mark is the decimal one, unless it groups thousands
        is_grouping = point == -1 and re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+", digits)
        digits = digits.replace(",", "") if is_grouping else digits.replace(".", "").replace(",", ".")
    elif comma != -1 or digits.count(".") > 1:
        digits = digits.replace(",", "") if comma != -1 else digits.replace(".", "")
    try:
        number = float(digits)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def unit_of(text: str) -> str:
    """€, $, £ or %: what stands by a number, if anything does."""
    return next((mark for mark in _UNITS if mark in text), "")


def is_integer(text: str) -> bool:
    number = as_number(text)
    return number is not None and number.is_integer()


def is_date(text: str) -> bool:
    """2025-01-31, 2025-01, 2025/01/31, 31.01.2025 and 31/01/2025 are dates, with a time or without."""
    found = _DATE.fullmatch(text.strip())
    if not found:
        return False
    year, month, day, first, _, second, last = found.groups()
    if year:
        return _exists(int(year), int(month), int(day or 1))
    return _exists(int(last), int(second), int(first)) or _exists(int(last), int(first), int(second))


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
        return True
    except ValueError:
        return False


def is_boolean(text: str) -> bool:
    return text.strip().casefold() in _BOOLEANS
