# %% [markdown]
# # Quick look
# What a table holds, what is wrong with it, three charts, one page.
# Each cell reads the files of those before it, so each can be run again alone.

# %% load
from recipes.kit import run, tables

table = tables.read_table(run.inputs["data"])
table.to_parquet("table.parquet", index=False)
table.head()

# %% profile
import json

import pandas as pd


def profile_of(column):
    """What one column holds, in plain values."""
    there = column.dropna()
    kind = (
        "empty" if there.empty
        else "yes or no" if pd.api.types.is_bool_dtype(column)
        else "number" if pd.api.types.is_numeric_dtype(column)
        else "date" if pd.api.types.is_datetime64_any_dtype(column)
        else "text"
    )  # fmt: skip
    about = {"name": str(column.name), "kind": kind, "missing": int(column.isna().sum()), "distinct": int(there.nunique())}
    if kind == "number":
        about |= {"least": float(there.min()), "most": float(there.max()), "median": float(there.median())}
        about |= {"mean": float(there.mean()), "total": float(there.sum())}
    elif kind == "date":
        about |= {"least": there.min().date().isoformat(), "most": there.max().date().isoformat()}
    elif kind in ("text", "yes or no"):
        words = there.map({True: "yes", False: "no"}) if kind == "yes or no" else there.astype(str)
        about["top"] = [[word, int(times)] for word, times in words.value_counts().sort_index(kind="stable").nlargest(20).items()]
    return about


loaded = pd.read_parquet("table.parquet")
profile = {"rows": len(loaded), "columns": [profile_of(loaded[name]) for name in loaded.columns]}
with open("profile.json", "w") as file:
    json.dump(profile, file, ensure_ascii=False, indent=1)
pd.DataFrame(profile["columns"]).head(20)

# %% problems
import json

import pandas as pd
from recipes.kit import run


def problems_in(column, today):
    """What looks wrong in one column: (what, rows in question)."""
    there = column.dropna()
    if there.empty:
        yield "has no value at all", column.isna()
        return
    if column.isna().any():
        yield "values are missing", column.isna()
    if len(there) > 1 and there.nunique() == 1:
        yield "is the same in every row", column.notna()
    if pd.api.types.is_datetime64_any_dtype(column):
        yield f"dates lie after {today}", column > pd.Timestamp(today) + pd.Timedelta(days=1)
    elif pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        low, middle, high = there.quantile([0.25, 0.5, 0.75])
        yield "values lie far from all others", (column - middle).abs() > 10 * (high - low) if high > low else column != column
        yield "numbers are negative where nearly all are positive", (column < 0) & ((there < 0).mean() < 0.05)
    elif pd.api.types.is_string_dtype(column):
        plain = there.astype(str).str.split().str.join(" ").str.casefold()
        usual = there.groupby(plain).agg(lambda words: words.value_counts().sort_index(kind="stable").idxmax())
        odd = there[there != plain.map(usual)]
        yield "values differ only in capitals or blanks", column.index.isin(odd.index)


loaded = pd.read_parquet("table.parquet")
found = []
for name in loaded.columns:
    for what, rows in problems_in(loaded[name], run.as_of):
        hit = loaded.loc[rows, name]
        if len(hit):
            examples = [str(value)[:40].removesuffix(" 00:00:00") for value in hit.dropna().unique()[:3]]
            found.append({"what": what, "where": str(name), "count": len(hit), "examples": examples})
if twice := int(loaded.duplicated().sum()):
    found.append({"what": "rows repeat an earlier row", "where": "all columns", "count": twice, "examples": []})
found.sort(key=lambda problem: -problem["count"])
with open("problems.json", "w") as file:
    json.dump(found, file, ensure_ascii=False, indent=1)
pd.DataFrame(found).head(20)

# %% choose
import json


def charts_for(profile):
    """Charts worth drawing, best first; the last three fit any table."""
    rows, columns = profile["rows"], profile["columns"]
    kinds = {kind: [c for c in columns if c["kind"] == kind] for kind in ("number", "date", "text", "yes or no")}
    amounts = [c for c in kinds["number"] if c["distinct"] > 2 and c["total"] != 0]
    names = [c for c in kinds["text"] if 1 < c["distinct"] <= max(30, rows // 20)] or kinds["yes or no"]
    if kinds["date"] and kinds["date"][0]["distinct"] > 2:
        yield "time", kinds["date"][0]["name"]
    if names:
        yield "top", names[0]["name"]
    if amounts:
        yield "spread", max(amounts, key=lambda c: c["distinct"])["name"]
    yield "missing", ""
    yield "distinct", ""
    yield "kinds", ""


with open("profile.json") as file:
    told = json.load(file)
words = {
    "time": ("Rows over time, by {}", "Number of rows in each period"),
    "top": ("Most frequent values of {}", "Number of rows; missing values are left out"),
    "spread": ("How {} is spread", "Number of rows in each range of equal width"),
    "missing": ("How full the columns are", "Share of rows with a value; the emptiest columns first"),
    "distinct": ("How many different values", "By column; the most varied first"),
    "kinds": ("What kinds of columns there are", "Number of columns"),
}
chosen = [
    {"file": f"charts/{n}.svg", "kind": kind, "column": column, "title": words[kind][0].format(column), "note": words[kind][1]}
    for n, (kind, column) in enumerate(list(charts_for(told))[:3], 1)
]
with open("charts.json", "w") as file:
    json.dump(chosen, file, ensure_ascii=False, indent=1)
chosen

# %% draw
import json

import numpy as np
import pandas as pd
from recipes.kit import charts, run
from recipes.kit.words import amount, percent


def scale(values):
    return [(height, amount(height)) for height in charts.round_scale(max(values, default=0)) if float(height).is_integer()]


def draw_time(path, dates, title):
    dates = dates.dropna()
    days = (dates.max() - dates.min()).days
    step, form = ("D", "%-d %b") if days < 62 else ("M", "%b %Y") if days < 1900 else ("Y", "%Y")
    periods = dates.dt.to_period(step).value_counts().sort_index()
    periods = periods.reindex(pd.period_range(periods.index[0], periods.index[-1], freq=step), fill_value=0)[-80:]
    marks = sorted({0, len(periods) // 3, 2 * len(periods) // 3})
    ticks = [(n, periods.index[n].start_time.strftime(form)) for n in marks]
    alt = f"Column chart: {title}. Most in {periods.idxmax().start_time.strftime(form)}: {periods.max():,} rows."
    charts.columns(path, list(periods), ticks, scale(periods), alt=alt)


def draw_spread(path, values, title):
    values = values.dropna().astype(float)
    low, high = values.quantile([0.005, 0.995]) if len(values) > 200 else (values.min(), values.max())
    heights, edges = np.histogram(values.clip(low, high), bins=min(24, max(4, int(len(values) ** 0.5))))
    marks = sorted({0, len(heights) // 2, len(heights)})
    alt = f"Histogram: {title}. Half of the values lie below {amount(values.median())}."
    charts.columns(path, heights.tolist(), [(n, amount(edges[n])) for n in marks], scale(heights), alt=alt)


def draw_bars(path, pairs, shown, title, **options):
    pairs = pairs[: run.parameters.top_n]
    first = f" First: {pairs[0][0]}, {shown(pairs[0][1])}."
    charts.bars(path, *zip(*pairs), [shown(value) for _, value in pairs], alt=f"Bar chart: {title}.{first}", **options)


with open("profile.json") as file:
    profiled = json.load(file)
with open("charts.json") as file:
    wanted = json.load(file)
source, by_name = pd.read_parquet("table.parquet"), {c["name"]: c for c in profiled["columns"]}
for chart in wanted:
    path, kind, column, title = chart["file"], chart["kind"], chart["column"], chart["title"]
    if kind == "time":
        draw_time(path, source[column], title)
    elif kind == "spread":
        draw_spread(path, source[column], title)
    elif kind == "top":
        draw_bars(path, by_name[column]["top"], amount, title)
    elif kind == "missing":
        filled = sorted((1 - c["missing"] / profiled["rows"], c["name"]) for c in profiled["columns"])
        draw_bars(path, [(name, share) for share, name in filled], percent, title, most=1)
    elif kind == "distinct":
        draw_bars(path, sorted(((c["name"], c["distinct"]) for c in profiled["columns"]), key=lambda p: -p[1]), amount, title)
    else:
        draw_bars(path, list(pd.Series([c["kind"] for c in profiled["columns"]]).value_counts().items()), amount, title)

# %% page
import json

from recipes.kit import page, run
from recipes.kit.words import amount, count, day, percent

with open("profile.json") as file:
    known = json.load(file)
with open("problems.json") as file:
    faults = json.load(file)
with open("charts.json") as file:
    pictures = json.load(file)
cells = known["rows"] * len(known["columns"])
filled = 1 - sum(c["missing"] for c in known["columns"]) / cells
dates = [c for c in known["columns"] if c["kind"] == "date"]
span = f" from {day(dates[0]['least'])} to {day(dates[0]['most'])}" if dates else ""
kinds = {kind: sum(c["kind"] == kind for c in known["columns"]) for kind in ("number", "date", "text", "yes or no", "empty")}
size = f"{count(known['rows'], 'row')} and {count(len(known['columns']), 'column')}"
page.write(
    "artifacts/quick_look.html",
    "templates/quick_look.html.j2",
    as_of=run.as_of,
    objective=run.objective,
    headline=f"The table has {size}{'; ' + count(len(faults), 'thing') + ' to look at' if faults else ', and nothing stands out'}",
    lead=f"{percent(filled)} of all values are there{';' + span.replace(' from', ' dates run from', 1) if span else ''}.",
    figures=[
        ("Rows", amount(known["rows"]), "below the header"),
        ("Columns", amount(len(known["columns"])), ", ".join(f"{n} {kind}" for kind, n in kinds.items() if n)),
        ("Values there", percent(filled), f"of {amount(cells)}"),
        ("To look at", amount(len(faults)), "listed below" if faults else "none found"),
    ],
    problems=faults,
    charts=[{**chart, "svg": page.svg(chart["file"])} for chart in pictures],
    profile=known,
)
