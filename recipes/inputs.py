"""A recipe's input files, checked before anything runs and without reading more of them than that needs."""

import codecs
import csv
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from recipes.errors import BadInput, meant
from recipes.kit.text_tables import (
    NotText,
    as_number,
    delimiter_of,
    encoding_of,
    is_boolean,
    is_date,
    is_integer,
    is_missing,
)
from recipes.recipe import ColumnKind, Input, Recipe

_HEAD_BYTES = 1 << 20
_CHECKED_ROWS = 1000
_MOST_FIELD = 10_000_000
_MAGIC = {".xlsx": b"PK\x03\x04", ".xlsm": b"PK\x03\x04", ".parquet": b"PAR1"}
_KINDS = {
    b"PK\x03\x04": "a workbook or an archive",
    b"PAR1": "Parquet",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
}
_MARKS = codecs.BOM_UTF8 + codecs.BOM_UTF16  # what a file that holds nothing may begin with
_BLANK = b" \t\r\n\f\v\0"
_OTHER_KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe, not a file",
    stat.S_ISSOCK: "a socket, not a file",
    stat.S_ISCHR: "a device, not a file",
    stat.S_ISBLK: "a device, not a file",
}
_IS_KIND: dict[ColumnKind, Callable[[str], bool]] = {
    "number": lambda text: as_number(text) is not None,
    "integer": is_integer,
    "date": is_date,
    "boolean": is_boolean,
}
_WANTED: dict[ColumnKind, str] = {
    "number": "a number (1200.5, 1,200.50 and 1.200,50 are understood)",
    "integer": "a whole number",
    "date": "a date (2025-01-31, 31.01.2025 and 2025-01 are understood)",
    "boolean": "yes or no",
}


def check_inputs(recipe: Recipe, given: Mapping[str, Path]) -> dict[str, Path]:
    """The given files by the names that cells call them; BadInput names the first that cannot be used."""
    for name in given:
        if name not in recipe.inputs:
            raise BadInput(
                f"{recipe.name} has no input '{name}' (given: {given[name]})",
                meant(name, recipe.inputs, "" if recipe.inputs else f"{recipe.name} takes no files"),
            )
    for wanted in recipe.inputs.values():
        if wanted.name in given:
            check_input(wanted, given[wanted.name])
        elif wanted.is_required:
            about = f": {wanted.description}" if wanted.description else ""
            raise BadInput(
                f"the input {wanted.name} is not given{about}", f"--file {wanted.name}=PATH, or --sample for an example"
            )
    return {recipe.inputs[name].file: path for name, path in given.items()}


def sample_inputs(recipe: Recipe) -> dict[str, Path]:
    """The recipe's own examples, by the names of its inputs."""
    return {
        entry.name: recipe.folder / "sample_data" / entry.sample for entry in recipe.inputs.values() if entry.sample
    }


def check_input(wanted: Input, path: Path) -> None:
    """Whether the recipe can work on this file; BadInput says what is wrong with it, and where."""
    head = _head(wanted, path)
    suffix = Path(wanted.file).suffix.lower()
    if suffix in _MAGIC:
        if not head.startswith(_MAGIC[suffix]):
            raise BadInput(f"{path} is not a {suffix} file: it begins with {head[:4]!r}", f"save it as {suffix}")
    elif suffix == ".json":
        if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            raise BadInput(f"{path} is not JSON: it begins with {head[:10]!r}", "a table in JSON begins with [ or {")
    elif suffix in (".csv", ".tsv", ".txt", ""):
        _check_table(wanted, path, head)


def _head(wanted: Input, path: Path) -> bytes:
    try:
        _check_kind(wanted, path, os.stat(path).st_mode)  # to open a device may set something off
        with open(path, "rb", opener=_without_waiting) as file:
            _check_kind(wanted, path, os.fstat(file.fileno()).st_mode)  # it may be another file by now
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        beside = [other.name for other in path.parent.glob("*") if other.exists()] if path.parent.is_dir() else []
        remedy = meant(path.name, beside, f"name a file that is there: --file {wanted.name}=PATH")
        what = f"is a link to {os.readlink(path)}, which is not there" if path.is_symlink() else "is not there"
        raise BadInput(f"{path} {what} (input {wanted.name})", remedy) from None
    except ValueError:  # what no file can be called, for Python
        raise BadInput(f"{str(path)[:80]!r} is no path (input {wanted.name})", f"--file {wanted.name}=PATH") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", "mend its mode, or name another file") from None
    if not head.lstrip(_MARKS).strip(_BLANK):
        raise BadInput(f"{path} is empty (input {wanted.name})", "look where it was written, or name another file")
    return head


def _check_kind(wanted: Input, path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((kind for is_kind, kind in _OTHER_KINDS.items() if is_kind(mode)), "no regular file")
    remedy = "name a file in it" if stat.S_ISDIR(mode) else "save what it gives as a file, and name that"
    raise BadInput(f"{path} is {kind} (input {wanted.name})", remedy)


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer opens at once, and is then seen to be one."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)


def _check_table(wanted: Input, path: Path, head: bytes) -> None:
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            raise BadInput(f"{path} is {kind}, not a table of text", "save it as CSV (UTF-8)")
    try:
        encoding = encoding_of(head)
        with open(path, encoding=encoding, newline="", opener=_without_waiting) as file:
            rows = _rows(file, delimiter_of(head.decode(encoding, errors="ignore")))
            top, first = next(rows, None), next(rows, None)
            header = top[1] if top else []
            _check_columns(wanted, path, header, first[1] if first else None)
            _check_rows(wanted, path, header, itertools.chain([first] if first else [], rows))
    except (NotText, UnicodeError) as error:
        raise BadInput(f"{path} is not text that can be read: {error}", "save it as CSV (UTF-8)") from None
    except csv.Error as error:
        raise BadInput(f"{path} is not a table: {error}", "save it as CSV (UTF-8)") from None


def _rows(file: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with its line."""
    csv.field_size_limit(_MOST_FIELD)
    reader = csv.reader(file, delimiter=delimiter)
    for row in reader:
        if any(field.strip() for field in row):
            yield reader.line_num, row


def _check_columns(wanted: Input, path: Path, header: list[str], first: list[str] | None) -> None:
    names = [name.strip() for name in header]
    for column in wanted.columns:
        if column in names:
            continue
        row = ", ".join(_quoted(field) for field in first[:12]) if first else "none"
        shown = ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
        raise BadInput(
            f"{path.name} has no column '{column}'.\n  columns: {shown}     first row: {row}",
            _missing(column, wanted.columns[column], names),
        )


def _missing(column: str, kind: ColumnKind, names: list[str]) -> str:
    like = f": {_WANTED[kind]};" if kind in _WANTED else ","
    otherwise = f"add a column {column}{like} or give the one that holds it this name, in the file's first line"
    remedy = meant(column, names, otherwise)
    return remedy if remedy == otherwise else f"{remedy} Call it {column} in the file's first line"


def _quoted(field: str) -> str:
    text = field.strip()
    return text[:40] if text.isdigit() else f'"{text[:40]}"'


def _check_rows(wanted: Input, path: Path, header: list[str], rows: Iterator[tuple[int, list[str]]]) -> None:
    places = {name.strip(): place for place, name in enumerate(header)}
    checks = [(name, places[name], is_kind) for name, kind in wanted.columns.items() if (is_kind := _IS_KIND.get(kind))]
    found = 0
    for line, row in itertools.islice(rows, max(_CHECKED_ROWS, wanted.min_rows)):
        found += 1
        for name, place, is_kind in checks if found <= _CHECKED_ROWS else ():
            value = row[place] if place < len(row) else ""
            if not is_missing(value) and not is_kind(value):
                raise BadInput(
                    f"{path.name}, line {line}: column '{name}' holds {value[:60]!r}",
                    f"it must be {_WANTED[wanted.columns[name]]}",
                )
    if found < wanted.min_rows:
        held = "no rows below its header" if found == 0 else f"{found} row{'' if found == 1 else 's'}"
        raise BadInput(
            f"{path.name} has {held}; {wanted.min_rows} or more are needed",
            "name a file with more rows" if found else "the first line is taken for the header: is there one?",
        )
