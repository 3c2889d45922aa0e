"""A file of a run at one moment: where it lies, how long it is, what is in it."""

from pydantic import BaseModel, ConfigDict, Field

from run_record.ids import Sha256


class Frozen(BaseModel):
    """What every model that crosses a border has in common: it does not change and takes no unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Artifact(Frozen):
    """A file of a run at one moment."""

    path: str = Field(description="Where it lies, relative to the run's tmp/.", min_length=1)
    size: int = Field(description="Its length in bytes.", ge=0)
    sha256: Sha256 = Field(description="The sha256 of its bytes.", pattern="^[0-9a-f]{64}$")
