"""A step of a recipe as it goes into a task."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from run_record import Frozen, Sha256
from three_tools.after_call import Ask
from three_tools.evaluator import Expectations


class Step(Frozen):
    """One tool call, and what the recipe says about it."""

    name: str = Field(
        description="What the step is called; a later attempt of the same name replaces it.", min_length=1
    )
    tool: str = Field(description="The tool's canonical name.")
    arguments: dict[str, JsonValue] = Field(description="The tool's arguments.")
    expects: Expectations = Field(default_factory=Expectations, description="What the Evaluator judges it by.")
    next_steps: tuple[str, ...] = Field(default=(), description="What comes after it.")
    reads: tuple[str, ...] = Field(default=(), description="The files that it is declared to read, if it is a cell.")
    source: Path | None = Field(default=None, description="A file of this machine whose bytes tmp.write is to take.")
    timeout_s: float | None = Field(default=None, description="How long it may take, if it is a search.")
    basis: Sha256 | None = Field(
        default=None, description="The sha256 of all that its result depends on, files aside; null: it is never cached."
    )

    def ask(self, attempt: int = 0, *, cached: bool = False) -> Ask:
        """The same as the record takes it."""
        return Ask(name=self.name, attempt=attempt, cached=cached, next_steps=self.next_steps, expects=self.expects)


def digest(value: Any) -> Sha256:  # Any: JSON, which is checked here
    """The sha256 of a JSON value in canonical form. What JSON does not have is a TypeError, and shares no key."""
    _require_json(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Sha256(hashlib.sha256(text.encode()).hexdigest())


def _require_json(value: object) -> None:
    match value:
        case None | bool() | int() | float() | str():
            return
        case dict():
            for key, each in value.items():  # pyright: ignore[reportUnknownVariableType]  (checked just here)
                if not isinstance(key, str):
                    raise TypeError(f"a cache key cannot hold the dictionary key {key!r}: it is no text")
                _require_json(each)  # pyright: ignore[reportUnknownArgumentType]
        case list() | tuple():
            for each in value:  # pyright: ignore[reportUnknownVariableType]
                _require_json(each)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            raise TypeError(f"a cache key cannot hold a {type(value).__name__}: turn it into JSON first")


def normalised(code: str) -> str:
    """Code without what changes nothing: kinds of line endings, blank lines around it. Spaces may stand in a string."""
    return code.replace("\r\n", "\n").rstrip().lstrip("\n")
