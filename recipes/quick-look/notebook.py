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


def usual(there):
    """Between what the values lie, but for those so far out that a chart of them would show nothing of the others."""
    low, middle, high = there.quantile([0.25, 0.5, 0.75], interpolation="nearest")
    inner = there[(there - middle).abs() <= 10 * (high - low)] if high > low else there
    if len(there) > 200 and pd.api.types.is_numeric_dtype(there):
        inner = inner[inner.between(inner.quantile(0.005), inner.quantile(0.995))]
    return inner if inner.nunique() > 1 else there


def profile_of(column, units):
    """What one column holds, in plain values."""
    there = column.dropna()
    kind = (
        "empty" if there.empty
        else "yes or no" if pd.api.types.is_bool_dtype(column)
        else "number" if pd.api.types.is_numeric_dtype(column)
        else "date" if pd.api.types.is_datetime64_any_dtype(column)
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
        inner = usual(there)
        about |= {"least": float(there.min()), "most": float(there.max()), "median": float(there.median())}
        about |= {"mean": float(there.mean()), "total": float(there.sum()), "whole": bool((there % 1 == 0).all())}
        about |= {"usual": [float(inner.min()), float(inner.max())], "beyond": len(there) - len(inner)}
        about |= {"unit": units[0] if len(units) == 1 else ""}
    elif kind == "date":
        inner = usual(there)
        about |= {"least": there.min().date().isoformat(), "most": there.max().date().isoformat()}
        about |= {"usual": [inner.min().date().isoformat(), inner.max().date().isoformat()]}
        about |= {"beyond": len(there) - len(inner)}
    elif kind in ("text", "yes or no"):
        words = there.map({True: "yes", False: "no"}) if kind == "yes or no" else there.astype(str)
        about["top"] = [
            [word, int(times)] for word, times in words.value_counts().sort_index(kind="stable").nlargest(20).items()
        ]
    return about


data = pd.read_parquet("table.parquet")
read_units = data.attrs.get("units", {})
profile = {
    "rows": len(data),
    "columns": [profile_of(data[name], read_units.get(str(name), [])) for name in data.columns],
}
with open("profile.json", "w") as file:
    json.dump(profile, file, ensure_ascii=False, indent=1)
pd.DataFrame(profile["columns"]).head(20)

# %% problems
import json

import pandas as pd
from recipes.kit import run
from recipes.kit.words import amount, day, short, visible

WRONG, MISSING, IDLE = range(3)  # what is probably wrong comes first, what says nothing last


def problems_in(column, units, today):
    """What looks wrong in one column: (how bad, what, rows in question, what should probably stand instead)."""
    there = column.dropna()
    if there.empty:
        yield MISSING, "has no value at all", column.isna(), {}
        return
    if column.isna().any():
        yield MISSING, "values are missing", column.isna(), {}
    if len(there) > 1 and there.nunique() == 1:
        yield IDLE, "is the same in every row", column.notna(), {}
    if pd.api.types.is_datetime64_any_dtype(column):
        yield WRONG, f"dates lie after {day(today)}", column > pd.Timestamp(today) + pd.Timedelta(days=1), {}
    elif pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        low, middle, high = there.quantile([0.25, 0.5, 0.75])
        if high > low:
            yield WRONG, "values lie far from all others", (column - middle).abs() > 10 * (high - low), {}
        if (there < 0).mean() < 0.05:
            yield WRONG, "numbers are negative where nearly all are positive", column < 0, {}
        if len(units) > 1:
            mixed = ", ".join(unit or "none" for unit in units)
            yield WRONG, f"units are mixed ({mixed}), and read as one", column.notna(), {}
    elif pd.api.types.is_string_dtype(column):
        usual = spellings(there)
        yield WRONG, "values differ only in capitals or blanks", column.isin(usual), usual


def spellings(there):
    """What is written otherwise than most with the same letters: the usual spelling of each."""
    known = there.astype(str).value_counts().sort_index(kind="stable").rename("times").reset_index()
    known.columns = ["word", "times"]
    known["plain"] = known["word"].str.split().str.join(" ").str.casefold()
    known = known[known["plain"].duplicated(keep=False)].sort_values("times", ascending=False, kind="stable")
    usual = known.drop_duplicates("plain").set_index("plain")["word"]
    odd = known[known["plain"].duplicated()]
    return dict(zip(odd["word"], odd["plain"].map(usual), strict=True))


def example(value, column, units):
    if pd.api.types.is_datetime64_any_dtype(column):
        return day(value)
    if isinstance(value, (int, float)):
        return amount(value, units[0] if len(units) == 1 else "")
    return visible(short(str(value)))


def examples(hit, units, usual):
    """Up to three: values, what they should probably be, or where to find what has none."""
    if hit.isna().all():
        return places(hit) if len(hit) < len(loaded) else []
    values = hit.drop_duplicates()[:3]
    if usual:
        return [f"“{visible(short(word))}” for “{visible(short(usual[word]))}”" for word in values]
    return [example(value, hit, units) for value in values]


def places(rows):
    return [f"row {number + 1:,}" for number in rows.index[:3]]


loaded = pd.read_parquet("table.parquet")
units = loaded.attrs.get("units", {})
found = []
for name in loaded.columns:
    mine = units.get(str(name), [])
    for weight, what, rows, usual in problems_in(loaded[name], mine, run.as_of):
        hit = loaded.loc[rows, name]
        if len(hit):
            told = {"what": what, "where": str(name), "count": len(hit), "examples": examples(hit, mine, usual)}
            found.append((weight, told))
if len(twice := loaded[loaded.duplicated()]):
    told = {
        "what": "rows repeat an earlier row",
        "where": "all columns",
        "count": len(twice),
        "examples": places(twice),
    }
    found.append((WRONG, told))
found = [told for _, told in sorted(found, key=lambda each: (each[0], -each[1]["count"]))]
with open("problems.json", "w") as file:
    json.dump(found, file, ensure_ascii=False, indent=1)
pd.DataFrame(found).head(20)

# %% choose
import json
from datetime import date

from recipes.kit import run
from recipes.kit.words import amount, count, short, visible


def charts_for(profile):
    """Charts worth drawing, best first; the last three fit any table."""
    rows, columns = profile["rows"], profile["columns"]
    kinds = {kind: [c for c in columns if c["kind"] == kind] for kind in ("number", "date", "text", "yes or no")}
    times = [c for c in kinds["date"] if c["distinct"] > 2]
    amounts = [c for c in kinds["number"] if c["distinct"] > 2 and c["total"] != 0 and not numbers_rows(c)]
    names = [c for c in kinds["text"] if 1 < c["distinct"] <= max(30, rows // 20)]
    names += [c for c in kinds["yes or no"] if c["distinct"] > 1]
    amounts.sort(key=lambda c: -c["distinct"])
    has_gaps = any(c["missing"] for c in columns)
    for number in range(3):
        yield from (("time", c) for c in times[number : number + 1])
        yield from (("top", c) for c in names[number : number + 1])
        yield from (("spread", c) for c in amounts[number : number + 1])
        if has_gaps and number == 0:
            yield "missing", None
    for kind in ("distinct", "kinds") if has_gaps else ("distinct", "kinds", "missing"):
        yield kind, None


def numbers_rows(column):
    """1, 2, 3, …: how it is spread says nothing."""
    there = column["distinct"]
    return column["whole"] and there > 20 and column["most"] - column["least"] == there - 1


def period_of(column):
    """What a column of the chart over time stands for: a day, a month, or so many years."""
    first, last = map(date.fromisoformat, column["usual"])
    days = (last - first).days
    return (
        "day" if days < 62 else "month" if days < 1900 else next(n for n in (1, 2, 5, 10, 50, 1000) if days < n * 18000)
    )


def words(kind, column, profile):
    """A chart's title, and how to read it."""
    width = len(profile["columns"])
    few = f" {run.parameters.top_n} of {width} columns" if width > run.parameters.top_n else ""
    if kind == "missing":
        return "How full the columns are", f"Share of rows with a value; the emptiest{few} first"
    if kind == "distinct":
        return "How many different values there are", f"In each column; the most varied{few} first"
    if kind == "kinds":
        return "What kinds of columns there are", "Number of columns of each kind"
    name = f"“{short(visible(column['name']), 44)}”"
    if kind == "time":
        each = period_of(column)
        each = each if isinstance(each, str) else "year" if each == 1 else f"period of {each} years"
        left_out = f"; {count(column['beyond'], 'row')} far from all others left out" if column["beyond"] else ""
        return f"Rows over time, by {name}", f"Number of rows in each {each}{left_out}"
    if kind == "top":
        most = f"; the {run.parameters.top_n} most frequent of {amount(column['distinct'])}"
        return f"Most frequent values of {name}", "Number of rows" + most * (column["distinct"] > run.parameters.top_n)
    beyond = f"; {count(column['beyond'], 'row')} beyond are in the outermost" if column["beyond"] else ""
    return f"How {name} is spread", f"Number of rows in each range{beyond}"


with open("profile.json") as file:
    told = json.load(file)
chosen = []
for number, (kind, column) in enumerate(list(charts_for(told))[:3], 1):
    title, note = words(kind, column, told)
    chart = {"file": f"charts/{number}.svg", "kind": kind, "column": column["name"] if column else ""}
    chosen.append(chart | {"title": title, "note": note} | ({"period": period_of(column)} if kind == "time" else {}))
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
    return [
        (height, amount(height)) for height in charts.round_scale(max(values, default=0)) if float(height).is_integer()
    ]


def draw_time(path, dates, about, period, title):
    first, last = map(pd.Timestamp, about["usual"])
    dates = dates[dates.between(first, last + pd.Timedelta(days=1), inclusive="left")]
    step, form = {"day": ("D", "%-d %b"), "month": ("M", "%b %Y")}.get(period, ("Y", "%Y"))
    periods = dates.dt.to_period(step)
    counts = periods.value_counts().reindex(pd.period_range(periods.min(), periods.max(), freq=step), fill_value=0)
    if step == "Y":
        counts = counts.groupby(counts.index.year // period * period).sum()
        names = [str(year) for year in counts.index]
    else:
        names = [start.strftime(form) for start in counts.index.start_time]
    marks = sorted({0, len(counts) // 3, 2 * len(counts) // 3})
    most = int(np.argmax(counts.to_numpy()))
    alt = f"Column chart: {title}. Most in {names[most]}: {counts.iloc[most]:,} rows."
    ticks = [(n, names[n]) for n in marks]
    charts.columns(path, counts.tolist(), ticks, scale(counts), across=about["name"], up="rows", alt=alt)


def draw_spread(path, values, about, title):
    low, high = about["usual"]
    edges = charts.round_bins(low, high, whole=about["whole"])
    heights, edges = np.histogram(values.dropna().astype(float).clip(low, high), bins=edges)
    middle = 0.5 if about["whole"] and edges[1] - edges[0] == 1 else 0  # a column for each number has it below itself
    marks = sorted({0, len(heights) // 2, len(heights) - (middle > 0)})
    ticks = [(n + middle, amount(edges[n], about["unit"])) for n in marks]
    alt = f"Histogram: {title}. Half of the values lie below {amount(values.median(), about['unit'])}."
    charts.columns(path, heights.tolist(), ticks, scale(heights), across=about["name"], up="rows", alt=alt)


def draw_bars(path, pairs, shown, title, **options):
    pairs = pairs[: run.parameters.top_n]
    first = f" First: {pairs[0][0]}, {shown(pairs[0][1])}."
    charts.bars(
        path,
        *zip(*pairs, strict=True),
        [shown(value) for _, value in pairs],
        alt=f"Bar chart: {title}.{first}",
        **options,
    )


with open("profile.json") as file:
    profiled = json.load(file)
with open("charts.json") as file:
    wanted = json.load(file)
source, by_name = pd.read_parquet("table.parquet"), {c["name"]: c for c in profiled["columns"]}
for chart in wanted:
    path, kind, column, title = chart["file"], chart["kind"], chart["column"], chart["title"]
    if kind == "time":
        draw_time(path, source[column], by_name[column], chart["period"], title)
    elif kind == "spread":
        draw_spread(path, source[column], by_name[column], title)
    elif kind == "top":
        draw_bars(path, by_name[column]["top"], amount, title)
    elif kind == "missing":
        filled = sorted(
            ((c["name"], 1 - c["missing"] / profiled["rows"]) for c in profiled["columns"]), key=lambda p: p[1]
        )
        draw_bars(path, filled, percent, title, most=1)
    elif kind == "distinct":
        varied = sorted(((c["name"], c["distinct"]) for c in profiled["columns"]), key=lambda p: -p[1])
        draw_bars(path, varied, amount, title)
    else:
        draw_bars(path, list(pd.Series([c["kind"] for c in profiled["columns"]]).value_counts().items()), amount, title)

# %% page
import hashlib
import json
from pathlib import Path

from recipes.kit import page, run
from recipes.kit.words import amount, count, day, percent, short, visible

with open("profile.json") as file:
    known = json.load(file)
with open("problems.json") as file:
    faults = json.load(file)
with open("charts.json") as file:
    pictures = json.load(file)
cells = known["rows"] * len(known["columns"])
filled = 1 - sum(c["missing"] for c in known["columns"]) / cells
dates = [c for c in known["columns"] if c["kind"] == "date"][:1]
spans = [
    f" The dates in “{short(visible(c['name']))}” run from {day(c['least'])} to {day(c['most'])}."
    if c["distinct"] > 1
    else f" The only date in “{short(visible(c['name']))}” is {day(c['least'])}."
    for c in dates
]
labels = {"number": "numeric", "date": "date", "text": "text", "yes or no": "yes or no", "empty": "empty"}
kinds = {label: sum(c["kind"] == kind for c in known["columns"]) for kind, label in labels.items()}
size = f"{count(known['rows'], 'row')} and {count(len(known['columns']), 'column')}"
numbers = {
    "rows": {"value": known["rows"], "unit": "rows", "format": "count", "step": "profile"},
    "columns": {"value": len(known["columns"]), "unit": "columns", "format": "count", "step": "profile"},
    "values_there": {"value": filled, "unit": "share of all values", "format": "percent", "step": "profile"},
    "to_look_at": {"value": len(faults), "unit": "findings", "format": "count", "step": "problems"},
}
with open("numbers.json", "w") as file:
    json.dump(numbers, file, indent=1)
page.write(
    "artifacts/quick_look.html",
    "templates/quick_look.html.j2",
    as_of=run.as_of,
    objective=run.objective,
    headline=f"Look at {count(len(faults), 'thing')} before relying on this table"
    if faults
    else "Nothing stands out in this table",
    lead=f"It has {size}; {percent(filled)} of all values are there.{''.join(spans)}",
    figures=[
        ("Rows", amount(numbers["rows"]["value"]), "below the header"),
        ("Columns", amount(numbers["columns"]["value"]), ", ".join(f"{n} {kind}" for kind, n in kinds.items() if n)),
        ("Values there", percent(numbers["values_there"]["value"]), f"of {amount(cells)}"),
        ("To look at", amount(numbers["to_look_at"]["value"]), "listed below" if faults else "none found"),
    ],
    problems=faults,
    charts=[{**chart, "svg": page.svg(chart["file"])} for chart in pictures],
    profile=known,
    source=f"{run.inputs['data']}, sha256 {hashlib.sha256(Path(run.inputs['data']).read_bytes()).hexdigest()[:12]}",
)
