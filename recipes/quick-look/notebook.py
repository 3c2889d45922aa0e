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
from recipes.kit import profiles

profile = profiles.profile_of(pd.read_parquet("table.parquet"))
with open("profile.json", "w") as file:
    json.dump(profile, file, ensure_ascii=False, indent=1)
pd.DataFrame(profile["columns"]).head(20)

# %% problems
import json

import pandas as pd
from recipes.kit import problems, run

found = problems.problems_in(pd.read_parquet("table.parquet"), run.as_of)
with open("problems.json", "w") as file:
    json.dump(found, file, ensure_ascii=False, indent=1)
pd.DataFrame(found).head(20)

# %% choose
import json

from recipes.kit import run, table_charts

with open("profile.json") as file:
    told = json.load(file)
chosen = table_charts.choose(told, run.parameters.top_n)
with open("charts.json", "w") as file:
    json.dump(chosen, file, ensure_ascii=False, indent=1)
chosen

# %% draw
import json

import pandas as pd
from recipes.kit import run, table_charts

with open("profile.json") as file:
    profiled = json.load(file)
with open("charts.json") as file:
    wanted = json.load(file)
table_read = pd.read_parquet("table.parquet")
for chart in wanted:
    table_charts.draw(chart, table_read, profiled, run.parameters.top_n)

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
