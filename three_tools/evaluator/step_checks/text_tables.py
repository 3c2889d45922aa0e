"""CSV and TSV, line by line: a header, rows, all of one width."""

import csv
from collections.abc import Iterator
from typing import IO, Any

from .columns import Tally, judge, wanted
from .text import encoding_of

_LINE_CHARACTERS = 16 << 20


def check(file: Any) -> list[dict[str, Any]]:
    with open(file.object, encoding=encoding_of(file.object), newline="") as text:
        return _check(file, text)


def _check(file: Any, text: IO[str]) -> list[dict[str, Any]]:
    rows = csv.reader(_lines(text), delimiter=_delimiter(file, text))
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
            tally.take(row[place] if place < len(row) else None)
    width = file.found("even rows", float(not ragged), ragged)
    return [*judge(file, count, len(header), tallies), width]


def _delimiter(file: Any, text: IO[str]) -> str:
    if file.kind == "tsv":
        return "\t"
    first = text.readline(_LINE_CHARACTERS)
    text.seek(0)
    return ";" if ";" in first and "," not in first else ","


def _lines(text: IO[str]) -> Iterator[str]:
    """No line is read that would fill the memory."""
    while line := text.readline(_LINE_CHARACTERS):
        if len(line) == _LINE_CHARACTERS and not line.endswith("\n"):
            raise ValueError(f"a line is longer than {_LINE_CHARACTERS} characters")
        yield line
