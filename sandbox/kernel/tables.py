"""A data frame as a table of plain values, beside its HTML and its text."""
# IPython is hardly typed, and numpy is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

import datetime
import decimal
import math
from typing import Any

from IPython.core.formatters import BaseFormatter, catch_format_error
from traitlets import ObjectName, Unicode

TABLE_MIME = "application/vnd.partner.table+json"
MAX_ROWS = 200
MAX_COLUMNS = 60
_MAX_TEXT = 500


class TableFormatter(BaseFormatter):
    """Knows pandas' and polars' frames and series, by name: neither is imported for it."""

    format_type = Unicode(TABLE_MIME)
    print_method = ObjectName("_repr_partner_table_")
    _return_type = dict

    @catch_format_error
    def __call__(self, obj: Any) -> dict[str, Any] | None:
        kind = type(obj)
        match kind.__module__.split(".")[0], kind.__name__:
            case "pandas", "DataFrame":
                return _pandas(obj)
            case "pandas", "Series":
                return _pandas(obj.to_frame())
            case "polars", "DataFrame":
                return _polars(obj)
            case "polars", "Series":
                return _polars(obj.to_frame())
            case _:
                return None


def _pandas(frame: Any) -> dict[str, Any]:  # Any: pandas is not imported here
    has_index = not (frame.index.name is None and type(frame.index).__name__ == "RangeIndex")
    shown = frame.iloc[:MAX_ROWS, :MAX_COLUMNS]
    columns = [_name(column) for column in shown.columns]
    rows = [[_value(value) for value in row] for row in shown.itertuples(index=False, name=None)]
    if has_index:
        names = frame.index.names
        columns = [_name(name) if name is not None else "" for name in names] + columns
        rows = [[*_index(entry, len(names)), *row] for entry, row in zip(shown.index, rows, strict=True)]
    return _table(columns, rows, frame.shape)


def _polars(frame: Any) -> dict[str, Any]:  # Any: polars is not imported here
    shown = frame[:MAX_ROWS, :MAX_COLUMNS]
    return _table(list(shown.columns), [[_value(value) for value in row] for row in shown.rows()], frame.shape)


def _table(columns: list[str], rows: list[list[Any]], shape: tuple[int, int]) -> dict[str, Any]:
    truncated = shape[0] > MAX_ROWS or shape[1] > MAX_COLUMNS
    return {"columns": columns, "rows": rows, "total_rows": shape[0], "total_columns": shape[1], "truncated": truncated}


def _name(column: object) -> str:
    return " / ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _index(entry: object, levels: int) -> list[Any]:
    return [_value(part) for part in entry] if levels > 1 and isinstance(entry, tuple) else [_value(entry)]


def _value(value: Any) -> Any:  # Any: whatever a frame holds → JSON
    if value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "item") and not isinstance(value, datetime.date):
        value = value.item()
    match value:
        case bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None if math.isnan(value) else str(value)
        case datetime.datetime() | datetime.date():
            return None if str(value) == "NaT" else value.isoformat()
        case decimal.Decimal():
            return str(value)
        case _:
            text = str(value)
            return None if text in ("<NA>", "NaT") else text[:_MAX_TEXT]
