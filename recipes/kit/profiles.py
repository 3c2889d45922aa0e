"""What each column of a table holds, in plain values that a JSON file takes."""
# pandas is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


Profile = dict[str, Any]  # Any: JSON


def profile_of(table: "pd.DataFrame") -> Profile:
    """How many rows there are, and of each column its kind, what is missing, how varied it is, and where it lies."""
    units = table.attrs.get("units", {})
    columns = [_column(table[name], units.get(str(name), [])) for name in table.columns]
    return {"rows": len(table), "columns": columns}


def _column(column: "pd.Series", units: list[str]) -> Profile:
    """What one column holds, in plain values."""
    from pandas.api import types

    there = column.dropna()
    kind = (
        "empty" if there.empty
        else "yes or no" if types.is_bool_dtype(column)
        else "number" if types.is_numeric_dtype(column)
        else "date" if types.is_datetime64_any_dtype(column)
        else "text"
    )  # fmt: skip
    about = {
        "name": str(column.name),
        "kind": kind,
        "missing": int(column.isna().sum()),
        "distinct": int(there.nunique()),
    }
    if kind == "number":
        there = there.astype(float)
        inner = _usual(there)
        about |= {"least": float(there.min()), "most": float(there.max()), "median": float(there.median())}
        about |= {"mean": float(there.mean()), "total": float(there.sum()), "whole": bool((there % 1 == 0).all())}
        about |= {"usual": [float(inner.min()), float(inner.max())], "beyond": len(there) - len(inner)}
        about |= {"unit": units[0] if len(units) == 1 else ""}
    elif kind == "date":
        inner = _usual(there)
        about |= {"least": there.min().date().isoformat(), "most": there.max().date().isoformat()}
        about |= {"usual": [inner.min().date().isoformat(), inner.max().date().isoformat()]}
        about |= {"beyond": len(there) - len(inner)}
    elif kind in ("text", "yes or no"):
        words = there.map({True: "yes", False: "no"}) if kind == "yes or no" else there.astype(str)
        about["top"] = [
            [word, int(times)] for word, times in words.value_counts().sort_index(kind="stable").nlargest(20).items()
        ]
    return about


def _usual(there: "pd.Series") -> "pd.Series":
    """Between what the values lie, but for those so far out that a chart of them would show nothing of the others."""
    from pandas.api import types

    low, middle, high = there.quantile([0.25, 0.5, 0.75], interpolation="nearest")
    inner = there[(there - middle).abs() <= 10 * (high - low)] if high > low else there
    if len(there) > 200 and types.is_numeric_dtype(there):
        inner = inner[inner.between(inner.quantile(0.005), inner.quantile(0.995))]
    return inner if inner.nunique() > 1 else there
