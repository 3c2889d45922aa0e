"""What a single check found: the Evaluator's cell makes findings, the rubric adds them up."""

from dataclasses import dataclass
from typing import Final, Literal

Dimension = Literal["completeness", "correctness", "evidence", "hygiene"]

CALL: Final = "the call"
"""What a finding is about that is about no file."""
SOURCE: Final = "source"
"""The check that a claim has a source; there is one finding for each claim."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one thing."""

    dimension: Dimension
    about: str
    """The file, or the call itself."""
    check: str
    """The check's name, as the critique names it."""
    score: float
    """From 0, failed, to 1, passed."""
    is_required: bool = False
    """Whether a step that fails it cannot pass, whatever its aggregate."""
    text: str = ""
    """What was found, with the value."""
