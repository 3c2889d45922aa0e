"""What whoever starts the local server tells it."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Start(BaseModel):
    """One JSON object on the stdin of the server's process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path = Field(description="The home whose server this is.")
    idle_s: float = Field(description="End after so long without a request.")
