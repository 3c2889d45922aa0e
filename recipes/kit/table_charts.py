"""Three charts for any table: which fit it best, and drawing them."""
# pandas is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

from recipes.kit import charts
from recipes.kit.profiles import Profile
from recipes.kit.words import amount, count, percent, short, visible

if TYPE_CHECKING:
    import pandas as pd

Chart = dict[str, Any]  # Any: JSON
_NUMBER = 3


def choose(profile: Profile, most: int) -> list[Chart]:
    """What to draw into which file, with a title and how to read it; a chart of bars has `most` at the most."""
    chosen = []
    for number, (kind, column) in enumerate(islice(_worth_drawing(profile), _NUMBER), 1):
        title, note = _words(kind, column or {}, profile, most)
        chart = {"file": f"charts/{number}.svg", "kind": kind, "column": column["name"] if column else ""}
        period = {"period": _period_of(column)} if column and kind == "time" else {}
        chosen.append({**chart, "title": title, "note": note, **period})
    return chosen


def draw(chart: Chart, table: "pd.DataFrame", profile: Profile, most: int) -> None:
    """One of the chosen charts."""
    path, kind, name, title = chart["file"], chart["kind"], chart["column"], chart["title"]
    columns = {column["name"]: column for column in profile["columns"]}
    if kind == "time":
        _draw_time(path, table[name], columns[name], chart["period"], title)
    elif kind == "spread":
        _draw_spread(path, table[name], columns[name], title)
    elif kind == "top":
        _draw_bars(path, columns[name]["top"][:most], amount, title)
    elif kind == "missing":
        full = sorted(((name, 1 - c["missing"] / profile["rows"]) for name, c in columns.items()), key=lambda p: p[1])
        _draw_bars(path, full[:most], percent, title, full=1)
    elif kind == "distinct":
        varied = sorted(((name, c["distinct"]) for name, c in columns.items()), key=lambda p: -p[1])
        _draw_bars(path, varied[:most], amount, title)
    else:
        kinds = Counter(column["kind"] for column in columns.values())
        _draw_bars(path, kinds.most_common(most), amount, title)


def _worth_drawing(profile: Profile) -> Iterator[tuple[str, Profile | None]]:
    """Charts worth drawing, best first; the last three fit any table."""
    rows, columns = profile["rows"], profile["columns"]
    kinds = {kind: [c for c in columns if c["kind"] == kind] for kind in ("number", "date", "text", "yes or no")}
    times = [c for c in kinds["date"] if c["distinct"] > 2]
    amounts = [c for c in kinds["number"] if c["distinct"] > 2 and c["total"] != 0 and not _numbers_rows(c)]
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


def _numbers_rows(column: Profile) -> bool:
    """1, 2, 3, …: how it is spread says nothing."""
    there = column["distinct"]
    return column["whole"] and there > 20 and column["most"] - column["least"] == there - 1


def _period_of(column: Profile) -> str | int:
    """What a column of the chart over time stands for: a day, a month, or so many years."""
    first, last = map(date.fromisoformat, column["usual"])
    days = (last - first).days
    return (
        "day" if days < 62 else "month" if days < 1900 else next(n for n in (1, 2, 5, 10, 50, 1000) if days < n * 18000)
    )


def _words(kind: str, column: Profile, profile: Profile, most: int) -> tuple[str, str]:
    """A chart's title, and how to read it."""
    width = len(profile["columns"])
    few = f" {most} of {width} columns" if width > most else ""
    if kind == "missing":
        return "How full the columns are", f"Share of rows with a value; the emptiest{few} first"
    if kind == "distinct":
        return "How many different values there are", f"In each column; the most varied{few} first"
    if kind == "kinds":
        return "What kinds of columns there are", "Number of columns of each kind"
    name = f"“{short(visible(column['name']), 44)}”"
    if kind == "time":
        each = _period_of(column)
        each = each if isinstance(each, str) else "year" if each == 1 else f"period of {each} years"
        left_out = f"; {count(column['beyond'], 'row')} far from all others left out" if column["beyond"] else ""
        return f"Rows over time, by {name}", f"Number of rows in each {each}{left_out}"
    if kind == "top":
        cut = f"; the {most} most frequent of {amount(column['distinct'])}"
        return f"Most frequent values of {name}", "Number of rows" + cut * (column["distinct"] > most)
    beyond = f"; {count(column['beyond'], 'row')} beyond are in the outermost" if column["beyond"] else ""
    return f"How {name} is spread", f"Number of rows in each range{beyond}"


def _scale(values: Iterable[float]) -> list[tuple[float, str]]:
    return [
        (height, amount(height)) for height in charts.round_scale(max(values, default=0)) if float(height).is_integer()
    ]


def _draw_time(path: str, dates: "pd.Series", about: Profile, period: str | int, title: str) -> None:
    import pandas as pd

    first, last = map(pd.Timestamp, about["usual"])
    dates = dates[dates.between(first, last + pd.Timedelta(days=1), inclusive="left")]
    step, form = {"day": ("D", "%-d %b"), "month": ("M", "%b %Y")}.get(str(period), ("Y", "%Y"))
    periods = dates.dt.to_period(step)
    counts = periods.value_counts().reindex(pd.period_range(periods.min(), periods.max(), freq=step), fill_value=0)
    if step == "Y":
        counts = counts.groupby(counts.index.year // period * period).sum()
        names = [str(year) for year in counts.index]
    else:
        names = [start.strftime(form) for start in counts.index.start_time]
    marks = sorted({0, len(counts) // 3, 2 * len(counts) // 3})
    most = int(counts.to_numpy().argmax())
    alt = f"Column chart: {title}. Most in {names[most]}: {counts.iloc[most]:,} rows."
    ticks = [(n, names[n]) for n in marks]
    charts.columns(path, counts.tolist(), ticks, _scale(counts), across=about["name"], up="rows", alt=alt)


def _draw_spread(path: str, values: "pd.Series", about: Profile, title: str) -> None:
    import numpy as np

    low, high = about["usual"]
    edges = charts.round_bins(low, high, whole=about["whole"])
    heights, edges = np.histogram(values.dropna().astype(float).clip(low, high), bins=edges)
    middle = 0.5 if about["whole"] and edges[1] - edges[0] == 1 else 0  # a column for each number has it below itself
    marks = sorted({0, len(heights) // 2, len(heights) - (middle > 0)})
    ticks = [(n + middle, amount(edges[n], about["unit"])) for n in marks]
    alt = f"Histogram: {title}. Half of the values lie below {amount(values.median(), about['unit'])}."
    charts.columns(path, heights.tolist(), ticks, _scale(heights), across=about["name"], up="rows", alt=alt)


def _draw_bars(
    path: str, pairs: Sequence[tuple[str, float]], shown: Callable[[float], str], title: str, full: float | None = None
) -> None:
    first = f" First: {pairs[0][0]}, {shown(pairs[0][1])}."
    names, values = zip(*pairs, strict=True)
    charts.bars(path, names, values, [shown(value) for value in values], alt=f"Bar chart: {title}.{first}", most=full)
