"""Parquet and Feather, batch by batch: a truncated file shows only when all of it is read."""
# Only the sandbox's environment has these libraries.
# pyright: basic, reportMissingImports=false

from collections.abc import Iterator
from typing import Any

from .columns import Tally, fits, judge, wanted

_BATCH_ROWS = 16_384
_METADATA_BYTES = 64 << 20


def check(file: Any) -> list[dict[str, Any]]:
    schema, batches = _parquet(file) if file.kind in ("parquet", "pq") else _feather(file)
    tallies = {name: Tally(kind) for name, kind in wanted(file).items() if name in schema.names}
    for name, tally in tallies.items():
        if not _fits(tally.kind, schema.field(name).type):
            tally.wrong = f"type {schema.field(name).type}"
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for name, tally in tallies.items():
            _take(tally, batch.column(name))
    return judge(file, rows, len(schema.names), tallies)


def _parquet(file: Any) -> tuple[Any, Iterator[Any]]:
    import pyarrow.parquet as pq

    reader = pq.ParquetFile(
        file.object,
        thrift_string_size_limit=_METADATA_BYTES,
        thrift_container_size_limit=_METADATA_BYTES,
        page_checksum_verification=True,
    )
    return reader.schema_arrow, reader.iter_batches(_BATCH_ROWS, use_threads=False)


def _feather(file: Any) -> tuple[Any, Iterator[Any]]:
    import pyarrow as pa

    reader = pa.ipc.open_file(pa.memory_map(file.object))
    return reader.schema, (reader.get_batch(number) for number in range(reader.num_record_batches))


def _fits(kind: str, of: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(of):
        of = of.value_type
    if types.is_null(of):
        return True  # a column without a value; `no_nan` is for those who mind
    if kind in ("number", "integer"):  # whole numbers with gaps are floats; values decide
        return types.is_integer(of) or types.is_floating(of) or types.is_decimal(of)
    if kind == "date":
        return types.is_date(of) or types.is_timestamp(of) or _is_text(of)
    if kind == "boolean":
        return types.is_boolean(of)
    return kind == "any" or _is_text(of)


def _is_text(of: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)


def _take(tally: Tally, column: Any) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())  # few functions of pyarrow know the short ones
    is_float = pa.types.is_floating(column.type)
    tally.missing += pc.sum(pc.is_null(column, nan_is_null=is_float)).as_py() or 0
    if pa.types.is_decimal(column.type):
        column, is_float = column.cast(pa.float64()), True
    if is_float or pa.types.is_integer(column.type):
        known = pc.filter(column, pc.invert(pc.is_nan(column))) if is_float else column
        ends = pc.min_max(known).as_py()
        if ends["min"] is not None:
            tally.take_bounds(float(ends["min"]), float(ends["max"]))
        if is_float and tally.kind == "integer" and tally.wrong is None:
            is_whole = pc.and_(pc.is_finite(known), pc.equal(known, pc.floor(known)))
            broken = pc.filter(known, pc.invert(is_whole))
            tally.wrong = str(broken[0].as_py()) if len(broken) else None
    if tally.kind == "date" and _is_text(column.type) and tally.wrong is None:
        texts = pc.unique(column.drop_null()).to_pylist()
        tally.wrong = next((repr(text)[:40] for text in texts if not fits("date", text)), None)
