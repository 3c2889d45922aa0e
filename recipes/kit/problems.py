"""What looks wrong in a table, and where: what is probably wrong comes first, what says nothing last."""
# pandas is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

from recipes.kit.words import amount, day, short, visible

if TYPE_CHECKING:
    import pandas as pd

_WRONG, _MISSING, _IDLE = range(3)
_Suspicion = tuple[int, str, "pd.Series", dict[str, str]]


def problems_in(table: "pd.DataFrame", today: str) -> list[dict[str, Any]]:  # Any: JSON
    """Each with what it is, the column, the number of rows, and examples."""
    units = table.attrs.get("units", {})
    found = []
    for name in table.columns:
        mine = units.get(str(name), [])
        for weight, what, rows, usual in _in_column(table[name], mine, today):
            hit = table.loc[rows, name]
            if len(hit):
                examples = _examples(hit, len(table), mine, usual)
                found.append((weight, {"what": what, "where": str(name), "count": len(hit), "examples": examples}))
    if len(twice := table[table.duplicated()]):
        told = {"what": "rows repeat an earlier row", "where": "all columns"}
        found.append((_WRONG, {**told, "count": len(twice), "examples": _places(twice)}))
    return [told for _, told in sorted(found, key=lambda each: (each[0], -each[1]["count"]))]


def _in_column(column: "pd.Series", units: list[str], today: str) -> Iterator[_Suspicion]:
    """What looks wrong in one column: (how bad, what, rows in question, what should probably stand instead)."""
    import pandas as pd
    from pandas.api import types

    there = column.dropna()
    if there.empty:
        yield _MISSING, "has no value at all", column.isna(), {}
        return
    if column.isna().any():
        yield _MISSING, "values are missing", column.isna(), {}
    if len(there) > 1 and there.nunique() == 1:
        yield _IDLE, "is the same in every row", column.notna(), {}
    if types.is_datetime64_any_dtype(column):
        yield _WRONG, f"dates lie after {day(today)}", column > pd.Timestamp(today) + pd.Timedelta(days=1), {}
    elif types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        low, middle, high = there.quantile([0.25, 0.5, 0.75])
        if high > low:
            yield _WRONG, "values lie far from all others", (column - middle).abs() > 10 * (high - low), {}
        if (there < 0).mean() < 0.05:
            yield _WRONG, "numbers are negative where nearly all are positive", column < 0, {}
        if len(units) > 1:
            mixed = ", ".join(unit or "none" for unit in units)
            yield _WRONG, f"units are mixed ({mixed}), and read as one", column.notna(), {}
    elif types.is_string_dtype(column):
        usual = _spellings(there)
        yield _WRONG, "values differ only in capitals or blanks", column.isin(usual), usual


def _spellings(there: "pd.Series") -> dict[str, str]:
    """What is written otherwise than most with the same letters: the usual spelling of each."""
    known = there.astype(str).value_counts().sort_index(kind="stable").rename("times").reset_index()
    known.columns = ["word", "times"]
    known["plain"] = known["word"].str.split().str.join(" ").str.casefold()
    known = known[known["plain"].duplicated(keep=False)].sort_values("times", ascending=False, kind="stable")
    usual = known.drop_duplicates("plain").set_index("plain")["word"]
    odd = known[known["plain"].duplicated()]
    return dict(zip(odd["word"], odd["plain"].map(usual), strict=True))


def _example(value: object, units: list[str]) -> str:
    if isinstance(value, date):
        return day(value)
    if isinstance(value, (int, float)):
        return amount(value, units[0] if len(units) == 1 else "")
    return visible(short(str(value)))


def _examples(hit: "pd.Series", of: int, units: list[str], usual: dict[str, str]) -> list[str]:
    """Up to three: values, what they should probably be, or where to find what has none."""
    if hit.isna().all():
        return _places(hit) if len(hit) < of else []
    values = hit.drop_duplicates()[:3]
    if usual:
        return [f"“{visible(short(word))}” for “{visible(short(usual[word]))}”" for word in values]
    return [_example(value, units) for value in values]


def _places(rows: "pd.Series | pd.DataFrame") -> list[str]:
    return [f"row {number + 1:,}" for number in rows.index[:3]]
