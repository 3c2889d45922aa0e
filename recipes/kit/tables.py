"""Tables as people send them, read into pandas with the types that their words have."""
# pandas is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from recipes.kit.text_tables import (
    NotText,
    as_number,
    delimiter_of,
    encoding_of,
    is_boolean,
    is_date,
    is_missing,
    unit_of,
)

if TYPE_CHECKING:
    import pandas as pd

_HEAD_BYTES = 1 << 20
_TRUE = ("true", "yes", "1")


class UnreadableTable(ValueError):
    """A file that is no table: names the file, and where in it the trouble is."""


def read_table(path: str | Path) -> "pd.DataFrame":
    """The table in a CSV, TSV, workbook, Parquet or JSON file; text columns get the type that all their values have.

    `attrs["units"]` names the units of columns whose numbers were written with any; Parquet files keep it.
    """
    import pandas as pd

    path = Path(path)
    match path.suffix.lower():
        case ".parquet":
            return pd.read_parquet(path)
        case ".xlsx" | ".xlsm":
            return _typed(pd.read_excel(path))
        case ".json":
            return _typed(pd.read_json(path))
        case _:
            return _typed(_read_text(path))


def _read_text(path: Path) -> "pd.DataFrame":
    import pandas as pd

    content = path.read_bytes()
    if not content.strip():
        raise UnreadableTable(f"{path.name} is empty")
    try:
        text = content.decode(encoding_of(content))
    except (NotText, UnicodeDecodeError) as error:
        raise UnreadableTable(f"{path.name} is not text: {error}") from None
    try:
        frame = pd.read_csv(
            StringIO(text),
            sep=delimiter_of(text[:_HEAD_BYTES]),
            dtype=str,
            keep_default_na=False,
            na_values=[],
            index_col=False,
        )
    except pd.errors.ParserError as error:
        raise UnreadableTable(f"{path.name} has a row that does not fit its columns: {str(error).strip()}") from None
    frame.columns = _distinct([str(name).strip() for name in frame.columns])
    return frame


def _distinct(names: list[str]) -> list[str]:
    """A name for each column, also where the header has none or the same twice."""
    seen: dict[str, int] = {}
    result = []
    for number, name in enumerate(names, 1):
        plain = f"column {number}" if not name or name.startswith("Unnamed: ") else name
        seen[plain] = seen.get(plain, 0) + 1
        result.append(plain if seen[plain] == 1 else f"{plain} ({seen[plain]})")
    return result


def _typed(frame: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    columns = {name: _typed_column(frame[name]) for name in frame.columns}
    typed = pd.DataFrame(columns, index=frame.index)
    typed.attrs["units"] = {
        str(name): units
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(typed[name]) and (units := _units(frame[name], typed[name]))
    }
    return typed


def _units(written: "pd.Series", numbers: "pd.Series") -> list[str]:
    """The units that a column's numbers were written with, "" among them when some have none while others have one."""
    units = {unit_of(str(word)) for word in written[numbers.notna()].unique()}
    return sorted(units) if units != {""} else []


def _typed_column(column: "pd.Series") -> "pd.Series":
    """Numbers, dates or booleans where every value that is there is one; else the text as it stands."""
    import pandas as pd

    if not pd.api.types.is_string_dtype(column.dtype):
        return column
    words = {word: str(word) for word in column.dropna().unique()}
    there = [word for word, text in words.items() if not is_missing(text)]
    known = column.where(column.isin(there))
    if not there:
        return known
    if all(as_number(words[word]) is not None for word in there) and not _are_codes(there):
        return pd.to_numeric(known.map({word: as_number(words[word]) for word in there}))
    if all(is_date(words[word]) for word in there):
        return _as_dates(known, there)
    if all(is_boolean(words[word]) for word in there):
        return known.map({word: words[word].strip().casefold() in _TRUE for word in there}).astype("boolean")
    return known


def _are_codes(words: list[str]) -> bool:
    """Digits with leading zeros, such as postcodes, are names and not amounts."""
    return any(len(word) > 1 and word.startswith("0") and word.isdigit() for word in words)


def _as_dates(column: "pd.Series", words: list[str]) -> "pd.Series":
    import pandas as pd

    slashed = [word.strip() for word in words if "/" in word and not word.strip()[:4].isdigit()]
    is_month_first = any(int(word.split("/")[1]) > 12 for word in slashed)
    dates = pd.to_datetime(
        pd.Series(words), format="mixed", dayfirst=(bool(slashed) and not is_month_first) or "." in words[0], utc=True
    )
    return pd.to_datetime(column.map(dict(zip(words, dates, strict=True))), utc=True).dt.tz_localize(None)
