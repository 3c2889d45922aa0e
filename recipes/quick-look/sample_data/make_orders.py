"""Makes orders.csv, a made-up shop's monthly orders by channel, and orders_truth.json, what was planted in it.

Both are generated and nobody's data: CC0 1.0. `python make_orders.py` writes them anew, byte by byte the same.
"""

import csv
import json
import math
import random
from pathlib import Path

HERE = Path(__file__).parent
CHANNELS = {"Email": 420, "Paid search": 690, "Affiliates": 240, "Paid social": 510, "Events": 130, "Organic": 860}
REGIONS = {"North": 1.2, "South": 0.9, "West": 0.7}
MONTHS = [f"{year}-{month:02}-01" for year in (2023, 2024, 2025) for month in range(1, 13)]
BASKET = {"Email": 71, "Paid search": 64, "Affiliates": 58, "Paid social": 49, "Events": 210, "Organic": 77}


def orders() -> list[dict[str, str]]:
    """Growth, a season that peaks in December, and noise."""
    dice = random.Random(20261118)
    rows: list[dict[str, str]] = []
    for number, month in enumerate(MONTHS):
        season = 1 + 0.22 * math.cos(2 * math.pi * (number % 12 - 11) / 12)
        for channel, size in CHANNELS.items():
            for region, weight in REGIONS.items():
                count = round(size * weight * season * (1 + 0.006 * number) * dice.lognormvariate(0, 0.09))
                revenue = count * BASKET[channel] * dice.lognormvariate(0, 0.05)
                rows.append({
                    "month": month,
                    "channel": channel,
                    "region": region,
                    "orders": str(count),
                    "revenue_eur": f"{revenue:.2f}",
                    "returned_share": f"{min(0.4, max(0, dice.gauss(0.08, 0.02))):.3f}",
                    "first_order": "yes" if dice.random() < 0.3 else "no",
                    "currency": "EUR",
                })  # fmt: skip
    return rows


def plant(rows: list[dict[str, str]]) -> dict[str, int]:
    """The faults that a quick look should find; how many rows each has."""
    dice = random.Random(7)
    places = dice.sample(range(len(rows)), 60)
    for place in places[:23]:
        rows[place]["returned_share"] = ""
    for place in places[23:32]:
        rows[place]["channel"] = rows[place]["channel"].upper()
    for place in places[32:36]:
        rows[place]["channel"] += " "
    for place in places[36:39]:
        rows[place]["revenue_eur"] = f"{float(rows[place]['revenue_eur']) * 100:.2f}"
    for place in places[39:41]:
        rows[place]["orders"] = f"-{rows[place]['orders']}"
    rows[places[41]]["month"] = "2052-03-01"
    rows += [dict(rows[place]) for place in places[50:55]]
    return {
        "returned_share missing": 23,
        "channel written otherwise": 13,
        "revenue_eur a hundred times too large": 3,
        "orders negative": 2,
        "month in the future": 1,
        "rows twice": 5,
        "currency always the same": len(rows),
    }


def main() -> None:
    rows = orders()
    truth = plant(rows)
    with open(HERE / "orders.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    told = {"rows": len(rows), "planted": truth}
    (HERE / "orders_truth.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
