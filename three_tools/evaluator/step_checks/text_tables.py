"""CSV and TSV, line by line: a header, rows, all of one width."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from .columns import Tally, judge, wanted
from .found import found
from .text import encoding_of

_LINE_CHARACTERS = 16 << 20
_SAMPLE_CHARACTERS = 1 << 16
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*", re.ASCII)


def check(file: Any) -> list[dict[str, Any]]:
    try:
        return _check_as(file, encoding_of(file.object))
    except UnicodeDecodeError:  # spreadsheets write Windows-1252, which has no byte for a few values
        remark = found("hygiene", file.path, "encoding", 0.5, "it is in Windows-1252, not in UTF-8")
        return [*_check_as(file, "cp1252"), remark]


def _check_as(file: Any, encoding: str) -> list[dict[str, Any]]:
    with open(file.object, encoding=encoding, newline="") as text:
        return _check(file, text)


def _check(file: Any, text: IO[str]) -> list[dict[str, Any]]:
    csv.field_size_limit(_LINE_CHARACTERS)
    delimiter = _delimiter(file, text)
    rows = csv.reader(
        _lines(text), delimiter=delimiter, strict=True
    )  # else a quote left open takes the rest in silence
    header = next((row for row in rows if row), list[str]())
    if not any(name.strip() for name in header):
        return [file.found("opens", 0, "there is no header", required=True)]
    tallies = {name: Tally(kind) for name, kind in wanted(file).items() if name in header}
    places = [(header.index(name), tally) for name, tally in tallies.items()]
    count, ragged = 0, ""
    for row in rows:
        if not row:
            continue  # a blank line, as at the end
        count += 1
        if len(row) != len(header):
            ragged = ragged or f"line {rows.line_num} has {len(row)} fields, the header has {len(header)}"
        for place, tally in places:
            tally.take_text(_field(row[place], delimiter) if place < len(row) else None)
    width = file.found("even rows", float(not ragged), ragged)
    return [*judge(file, count, len(header), tallies), width]


def _delimiter(file: Any, text: IO[str]) -> str:
    """What parts both the header and the first row into the most fields."""
    if file.kind == "tsv":
        return "\t"
    sample = text.read(_SAMPLE_CHARACTERS)
    text.seek(0)
    return max(",;\t", key=lambda delimiter: _least_width(sample, delimiter))


def _least_width(sample: str, delimiter: str) -> int:
    rows = (row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row)
    return min((len(row) for row in islice(rows, 2)), default=0)


def _field(text: str, delimiter: str) -> str:
    """Where semicolons part the fields, a comma may part the decimals."""
    return text.replace(",", ".") if delimiter == ";" and _DECIMAL_COMMA.fullmatch(text) else text


def _lines(text: IO[str]) -> Iterator[str]:
    """No line is read that would fill the memory."""
    while line := text.readline(_LINE_CHARACTERS):
        if len(line) == _LINE_CHARACTERS and not line.endswith("\n"):
            raise ValueError(f"a line is longer than {_LINE_CHARACTERS} characters")
        yield line
