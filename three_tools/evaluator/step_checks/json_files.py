"""JSON: it parses as every reader would, and fits the schema that is declared for it."""
# JSON of anybody's is typed by looking at it; the sandbox's environment alone has the libraries.
# pyright: basic, reportMissingImports=false

import json
from typing import Any, NoReturn

from .columns import Tally, judge, wanted
from .found import name_error
from .text import TooLarge, encoding_of, read_text

_LINE_CHARACTERS = 16 << 20


def check(file: Any) -> list[dict[str, Any]]:
    if file.kind in ("jsonl", "ndjson"):
        return _check_lines(file)
    try:
        value = parse(read_text(file.object))
    except TooLarge as error:
        return [file.found("opens", 1, f"not opened: {error}")]
    except RecursionError:
        return [file.found("opens", 0, "RecursionError: it is nested too deeply", required=True)]
    except ValueError as error:
        return [file.found("parses", 0, name_error(error), required=True)]
    findings = [file.found("opens", 1)]
    schemas = [expected["json_schema"] for expected in file.expects if expected["json_schema"] is not None]
    findings += [_fit(file, value, schema) for schema in schemas]
    if any(expected["min_rows"] is not None for expected in file.expects) or wanted(file):
        findings += _check_records(file, value)
    return findings


def parse(text: str) -> Any:
    """As browsers and strict readers do it: NaN and Infinity are no JSON."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _check_lines(file: Any) -> list[dict[str, Any]]:
    names: set[str] = set()
    tallies = {name: Tally(kind) for name, kind in wanted(file).items()}
    count, number = 0, 0
    with open(file.object, encoding=encoding_of(file.object)) as text:
        while line := text.readline(_LINE_CHARACTERS):
            number += 1
            if not line.strip():
                continue
            try:
                record = parse(line)
            except (ValueError, RecursionError) as error:
                return [file.found("parses", 0, f"line {number}: {name_error(error)}", required=True)]
            count += 1
            _take(record, names, tallies)
    return judge(file, count, len(names), {name: tally for name, tally in tallies.items() if name in names})


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


def _fit(file: Any, value: Any, schema: dict[str, Any]) -> dict[str, Any]:
    import fastjsonschema

    try:
        fastjsonschema.compile(schema)(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return file.found("schema", 0, error.message, required=True)
    return file.found("schema", 1, required=True)
