"""JSON: it parses as every reader would, and fits the schema that is declared for it."""
# JSON of anybody's is typed by looking at it; the sandbox's environment alone has the libraries.
# pyright: basic, reportMissingImports=false

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from .columns import Tally, judge, wanted
from .found import name_error
from .text import TooLarge, encoding_of, read_text

_LINE_CHARACTERS = 16 << 20
_LINES = ("jsonl", "ndjson")


def check(file: Any) -> list[dict[str, Any]]:
    if file.kind in _LINES:
        return _check_lines(file)
    try:
        value = parse(read_text(file.object))
    except TooLarge as error:
        return [file.found("opens", 1, f"not opened: {error}")]
    except RecursionError:
        return [file.found("opens", 0, "RecursionError: it is nested too deeply", required=True)]
    except ValueError as error:
        return [file.found("parses", 0, name_error(error), required=True)]
    findings = [file.found("opens", 1), *_fit(file, [value])]
    if any(expected["min_rows"] is not None for expected in file.expects) or wanted(file):
        findings += _check_records(file, value)
    return findings


def parse(text: str) -> Any:
    """As browsers and strict readers do it: NaN and Infinity are no JSON."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _check_lines(file: Any) -> list[dict[str, Any]]:
    """Every line is a record, and has to fit the schema."""
    names: set[str] = set()
    tallies = {name: Tally(kind) for name, kind in wanted(file).items()}
    count = 0
    try:
        for record in _records(file):
            count += 1
            _take(record, names, tallies)
    except _Unparsed as error:
        return [file.found("parses", 0, str(error), required=True)]
    tallies = {name: tally for name, tally in tallies.items() if name in names}
    return [*judge(file, count, len(names), tallies), *_fit(file, _records(file))]


class _Unparsed(Exception):
    """A line that is no JSON."""


def _records(file: Any) -> Iterator[Any]:
    number = 0
    with open(file.object, encoding=encoding_of(file.object)) as text:
        while line := text.readline(_LINE_CHARACTERS):
            number += 1
            if not line.strip():
                continue
            try:
                yield parse(line)
            except (ValueError, RecursionError) as error:
                raise _Unparsed(f"line {number}: {name_error(error)}") from error


def _check_records(file: Any, value: Any) -> list[dict[str, Any]]:
    """A list of records is a table; so is the one list in an object."""
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else value
    if not isinstance(value, list):
        return [file.found("rows", 0, f"a list is expected, this is {type(value).__name__}", required=True)]
    names: set[str] = set()
    tallies = {name: Tally(kind) for name, kind in wanted(file).items()}
    for record in value:
        _take(record, names, tallies)
    return judge(file, len(value), len(names), {name: tally for name, tally in tallies.items() if name in names})


def _take(record: Any, names: set[str], tallies: dict[str, Tally]) -> None:
    """What is no record lacks every column."""
    fields = record if isinstance(record, dict) else {}
    names.update(fields)
    for name, tally in tallies.items():
        tally.take(fields.get(name))


def _fit(file: Any, values: Iterable[Any]) -> list[dict[str, Any]]:
    schemas = [expected["json_schema"] for expected in file.expects if expected["json_schema"] is not None]
    if not schemas:
        return []
    try:
        checks = [_compile(schema) for schema in schemas]
    except Exception as error:  # the schema is the caller's: whatever is wrong with it is no fault of the file's
        return [file.found("schema", 0, f"the declared schema cannot be used: {name_error(error)}", required=True)]
    return [_fits(file, values, checks)]


def _compile(schema: dict[str, Any]) -> Callable[[Any], object]:
    """Without defaults: they would fill in the very values that are missing."""
    import fastjsonschema

    schemes = ("http", "https", "ftp", "file", "data")
    handlers: dict[str, Callable[[str], Any]] = dict.fromkeys(schemes, _refuse_reference)
    return fastjsonschema.compile(schema, handlers=handlers, use_default=False)


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"it refers to {uri}, and nothing is fetched")


def _fits(file: Any, values: Iterable[Any], checks: list[Callable[[Any], object]]) -> dict[str, Any]:
    import fastjsonschema

    number = 0
    try:
        for value in values:
            number += 1
            for check in checks:
                check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        line = f"record {number}: " if file.kind in _LINES else ""
        return file.found("schema", 0, f"{line}{error.message}", required=True)
    except RecursionError:
        return file.found(
            "schema", 0, "the schema goes round in circles, or the file is nested too deeply", required=True
        )
    return file.found("schema", 1, required=True)
