"""Recipes to be measured: eight cells that work as an analyst's do, and many that do nothing."""

from pathlib import Path

ANALYSIS = {
    "leads": """
import pandas as pd
days = [f"2025-{1 + n // 5:02d}-{1 + n % 5 * 6:02d}" for n in range(50)]
rows = [(day, "abcde"[n % 5], 100 + 7 * n % 90, 20 + n % 13) for n, day in enumerate(days)]
leads = pd.DataFrame(rows, columns=["day", "source", "spend", "leads"])
leads.to_csv("leads.csv", index=False)
leads.head()
""",
    "clean": """
import pandas as pd
table = pd.read_csv("leads.csv", parse_dates=["day"]).sort_values("day").reset_index(drop=True)
table["cac"] = table.spend / table.leads
table.to_parquet("clean.parquet")
print(len(table), "rows")
""",
    "sources": """
import json
by_source = table.groupby("source").agg(spend=("spend", "sum"), leads=("leads", "sum"))
by_source["cac"] = by_source.spend / by_source.leads
with open("sources.json", "w") as file:
    json.dump(by_source.cac.round(2).to_dict(), file)
by_source
""",
    "regression": """
import statsmodels.api as sm
line = sm.OLS(table.leads.astype(float), sm.add_constant(table.spend.astype(float))).fit()
line.params.rename("value").to_frame().to_parquet("regression.parquet")
print(line.params.round(3).to_dict())
""",
    "forecast": """
from statsmodels.tsa.holtwinters import ExponentialSmoothing
smooth = ExponentialSmoothing(table.spend.astype(float), trend="add", initialization_method="estimated").fit()
ahead = smooth.forecast(6)
ahead.rename("spend").to_frame().to_csv("forecast.csv")
ahead.round(1).tolist()
""",
    "ranking": """
ranking = by_source.sort_values("cac").reset_index()
ranking["share"] = ranking.spend / ranking.spend.sum()
ranking.to_csv("ranking.csv", index=False)
ranking
""",
    "numbers": """
best = ranking.iloc[0]
numbers = {"best": best.source, "cac": round(float(best.cac), 2), "spend_next": round(float(ahead.iloc[0]), 1)}
with open("numbers_out.json", "w") as file:
    json.dump(numbers, file)
numbers
""",
    "page": """
lines = [f"<li>{name}: {value}</li>" for name, value in numbers.items()]
with open("page.html", "w") as file:
    file.write("<!doctype html><title>Leads</title><ul>" + "".join(lines) + "</ul>" + ranking.to_html())
""",
}

_TOML = 'title = "{name}"\npurpose = "Is measured."\nobjective = "How fast?"\ndeliverables = [{deliverables}]\n'


def write_recipe(folder: Path, name: str, cells: dict[str, str], deliverables: str) -> None:
    target = folder / name
    target.mkdir(parents=True)
    (target / "recipe.toml").write_text(_TOML.format(name=name, deliverables=deliverables))
    (target / "notebook.py").write_text("\n".join(f"# %% {cell}\n{code.strip()}\n" for cell, code in cells.items()))


def trivial(count: int) -> dict[str, str]:
    return {f"n{number:04d}": f"x{number} = 1" for number in range(count)}
