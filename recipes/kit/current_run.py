"""What this run is about: parameters, clock, question, seed and files."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_SEED = 0


class Values(Mapping[str, Any]):
    """Parameters or files by name: `values.top_n` or `values["top_n"]`."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        self._what = what
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(f"this run has no {self._what} {name!r}; recipe.toml declares {', '.join(self._values)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{self._what}s {self._values}"


class Run:
    """The run that cells are part of. Without one (a notebook in Jupyter) it has recipe.toml's defaults."""

    def __init__(self) -> None:
        self._told: dict[str, Any] | None = None

    def begin(self, told: str) -> None:
        """Called once, before the first cell, by whoever runs the recipe."""
        self._told = json.loads(told)

    @property
    def parameters(self) -> Values:
        return Values("parameter", self._values["parameters"])

    @property
    def inputs(self) -> Values:
        """The files that the run was given, by the names of recipe.toml."""
        return Values("input", self._values["inputs"])

    @property
    def as_of(self) -> str:
        """The run's date, such as 2026-11-18: take it instead of today's."""
        return self._values["as_of"]

    @property
    def objective(self) -> str:
        return self._values["objective"]

    @property
    def seed(self) -> int:
        return self._values["seed"]

    @property
    def _values(self) -> dict[str, Any]:
        if self._told is None:
            self._told = _defaults(Path.cwd())
        return self._told


def _defaults(folder: Path) -> dict[str, Any]:
    """What recipe.toml says, here or above."""
    for place in (folder, *folder.parents):
        if (place / "recipe.toml").is_file():
            content = tomllib.loads((place / "recipe.toml").read_text(encoding="utf-8"))
            break
    else:
        raise RuntimeError("no run has begun, and there is no recipe.toml here or above: open the recipe's folder")
    parameters = content.get("parameters", {})
    inputs = content.get("inputs", {})
    return {
        "parameters": {name: _plain(entry.get("default")) for name, entry in parameters.items()},
        "inputs": {name: _file(place, entry) for name, entry in inputs.items()},
        "objective": content.get("objective", ""),
        "as_of": datetime.now(UTC).date().isoformat(),
        "seed": _SEED,
    }


def _file(place: Path, entry: Mapping[str, Any]) -> str:
    """The file itself where it lies there, else the sample."""
    sample = place / "sample_data" / str(entry.get("sample", ""))
    return str(sample) if not Path(entry["file"]).exists() and sample.is_file() else entry["file"]


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


run = Run()
"""The one that cells use."""
