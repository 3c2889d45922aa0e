"""The code that tells a kernel what this run is, before its first cell."""

import json
from collections.abc import Mapping

from pydantic import JsonValue


def prelude(
    parameters: Mapping[str, JsonValue],
    objective: str,
    as_of: str,
    seed: int,
    inputs: Mapping[str, str] | None = None,
) -> str:
    """Python that fills `recipes.kit.run`; the same values give the same code, and nothing of them is run as code."""
    values = {
        "parameters": dict(parameters),
        "objective": objective,
        "as_of": as_of,
        "seed": seed,
        "inputs": dict(inputs or {}),
    }
    told = json.dumps(values, sort_keys=True)  # ASCII only: a lone surrogate cannot break the cell
    return f"from recipes.kit import run as _run\n_run.begin({told!r})\ndel _run\n"
