"""What every message of the three tools has in common."""

from typing import cast

from pydantic import BaseModel, ConfigDict, field_validator


class Wire(BaseModel):
    """A message as it crosses the wire: typed strictly, unchangeable, and without room for unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*", mode="after")
    @classmethod
    def _is_text(cls, value: object) -> object:
        """Half a character, which some programs send, can be neither stored nor printed."""
        texts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        for text in texts:
            if isinstance(text, str) and not text.isascii():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise ValueError("it holds half a character (a lone surrogate), so it is not UTF-8") from None
        return cast("object", value)


def is_absent(value: object) -> bool:
    """For `exclude_if`: a field that is one of two alternatives, or a mark, is left out when there is nothing in it."""
    return value is None
