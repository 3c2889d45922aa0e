"""Archives and what Office keeps in them: whole, and not empty."""
# Only the sandbox's environment has these libraries.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

from .columns import Tally, judge, wanted
from .found import count

_MOST_INFLATED = 512 << 20
_MOST_PARTS = 20_000
_MOST_ROWS = 1 << 20
"""As many as a sheet can have."""
_FORMULA = object()


def check(file: Any) -> list[dict[str, Any]]:
    with zipfile.ZipFile(file.object) as archive:
        problem = _broken(archive)
        names = set(archive.namelist())
    if problem:
        return [file.found("opens", 0, problem, required=True)]
    if file.kind == "pptx":
        return _check_slides(file)
    if file.kind == "xlsx":
        return _check_workbook(file)
    if file.kind == "docx" and "word/document.xml" not in names:
        return [file.found("opens", 0, "there is no document in it", required=True)]
    return [file.found("opens", 1, f"{len(names)} files" if file.kind == "zip" else "")]


def _broken(archive: zipfile.ZipFile) -> str:
    """Sizes first: no more is inflated than the archive admits to."""
    parts = archive.infolist()
    inflated = sum(part.file_size for part in parts)
    if not parts:
        return "it is an empty archive"
    if len(parts) > _MOST_PARTS or inflated > _MOST_INFLATED:
        return f"it would unpack to {len(parts)} files and {inflated >> 20} MB: more than is opened"
    damaged = archive.testzip()
    return f"{damaged} in it is damaged" if damaged else ""


def _check_slides(file: Any) -> list[dict[str, Any]]:
    import pptx

    slides = len(pptx.Presentation(file.object).slides)
    if not slides:
        return [file.found("opens", 0, "it has no slide", required=True)]
    return [file.found("opens", 1, count(slides, "slide"))]


def _check_workbook(file: Any) -> list[dict[str, Any]]:
    """The first sheet is the table that expectations speak of; its first row is the header."""
    import openpyxl

    with open(file.object, "rb") as data, open(file.object, "rb") as same:
        sheets = openpyxl.load_workbook(data, read_only=True, data_only=True).worksheets
        formulas = openpyxl.load_workbook(same, read_only=True).worksheets
        pairs = list(zip(sheets, formulas, strict=True))
        if not any(next(_rows(*pair), None) for pair in pairs):
            return [file.found("opens", 0, "no cell of it has a value", required=True)]
        if file.expects:
            return _check_table(file, _rows(*pairs[0]))
    return [file.found("opens", 1, count(len(sheets), "sheet"))]


def _rows(values: Any, formulas: Any) -> Iterator[list[Any]]:
    """Rows with something in them; a formula that no program has calculated yet stands for its value."""
    for sheet in (values, formulas):
        sheet.reset_dimensions()  # else a cell far out, and only formatted, fills up every row before it
    pairs = zip(values.iter_rows(values_only=True), formulas.iter_rows(values_only=True), strict=False)
    for row, written in islice(pairs, _MOST_ROWS):
        if any(value is not None for value in written):
            cells = zip(row, written, strict=False)
            yield [_FORMULA if value is None and text is not None else value for value, text in cells]


def _check_table(file: Any, rows: Iterator[list[Any]]) -> list[dict[str, Any]]:
    header = [str(value) if value is not None else "" for value in next(rows, ())]
    tallies = {name: Tally(kind) for name, kind in wanted(file).items() if name in header}
    places = [(header.index(name), tally) for name, tally in tallies.items()]
    number = 0
    for row in rows:
        number += 1
        for place, tally in places:
            value = row[place] if place < len(row) else None
            if value is not _FORMULA:
                tally.take(value)
    return judge(file, number, len(header), tallies)
