"""What every message of the three tools has in common."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A message as it crosses the wire: typed strictly, unchangeable, and without room for unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def is_absent(value: object) -> bool:
    """For `exclude_if`: a field that is one of two alternatives, or a mark, is left out when there is nothing in it."""
    return value is None
