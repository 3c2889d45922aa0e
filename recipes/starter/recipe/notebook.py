# %% [markdown]
# # TITLE
# Each cell has a name, which recipe.toml uses, and passes files on to the next.

# %% load
from recipes.kit import run, tables

table = tables.read_table(run.inputs["data"])
table.head()

# %% totals
totals = table.groupby("group", as_index=False)["amount"].sum().sort_values("amount", ascending=False)
totals.to_csv("totals.csv", index=False)
totals.head()

# %% report
import csv

from recipes.kit import page, run

with open("totals.csv", newline="") as file:
    groups = [(row["group"], float(row["amount"])) for row in csv.DictReader(file)]
page.write(
    "artifacts/report.html",
    "templates/report.html.j2",
    objective=run.objective,
    as_of=run.as_of,
    groups=groups[: run.parameters.top_n],
    total=sum(amount for _, amount in groups),
)
