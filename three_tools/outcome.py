"""How a tool call ended: with a result, or with one of the fixed codes and the reason."""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from three_tools.errors import Code
from three_tools.tool import Report

_LONGEST_TEXT = 50_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call did not do what was asked."""

    code: Code
    problem: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A call that has ended. A caller's loop gets these, never an exception for what it did wrong itself."""

    tool: str
    """The canonical name; of an unknown tool, the name it was called by."""
    ok: bool
    """Whether it did what was asked: a cell that failed has a result, and is not ok."""
    result: BaseModel | None = None
    refusal: Refusal | None = None
    report: Report = field(default_factory=Report)
    seconds: float = 0.0

    @property
    def code(self) -> Code | None:
        return self.refusal.code if self.refusal else None

    def as_json(self) -> dict[str, Any]:  # Any: JSON
        """The result's fields as the contract has them, or the refusal."""
        if self.result is not None:
            return self.result.model_dump(mode="json")
        if self.refusal is None:
            return {}
        return {"error": {"code": self.refusal.code, "problem": self.refusal.problem, "remedy": self.refusal.remedy}}

    def text(self) -> str:
        """The answer as a model reads it, bounded."""
        text = json.dumps(self.as_json(), ensure_ascii=False)
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}… ({len(text) - _LONGEST_TEXT:,} characters left out)"
        return text
