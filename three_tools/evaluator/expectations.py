"""What is expected of a step, declared by its recipe or its caller; the Evaluator judges by it."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from run_record import Frozen

ColumnKind = Literal["any", "number", "integer", "text", "date", "boolean"]


Bound = Annotated[float, Field(allow_inf_nan=False)] | None  # nothing is smaller or greater than NaN


class Range(Frozen):
    """Between what the values of a column must lie, both ends included."""

    least: Bound = Field(default=None, description="The smallest value allowed; null: no limit.")
    most: Bound = Field(default=None, description="The largest value allowed; null: no limit.")


class ExpectedFile(Frozen):
    """A file that a step is to make, and what must be true of it. Every check named here is required."""

    path: str = Field(description="Where it lies, relative to tmp/; `*` and `?` as in a shell.", min_length=1)
    is_required: bool = Field(default=True, description="False: it may be missing, but if it is there it is checked.")
    columns: dict[str, ColumnKind] = Field(
        default_factory=dict[str, ColumnKind], description="The columns a table must have, and of what kind."
    )
    min_rows: int | None = Field(default=None, ge=0, description="A table or list must have at least so many rows.")
    no_nan: tuple[str, ...] = Field(default=(), description="Columns without a missing value.")
    ranges: dict[str, Range] = Field(default_factory=dict[str, Range], description="Columns whose values are bounded.")
    json_schema: dict[str, JsonValue] | None = Field(default=None, description="The JSON schema a JSON file must fit.")
    has_claims: bool | None = Field(
        default=None,
        description="Whether each claim in it needs a source. Null: yes for facts.json and facts.md, no for others.",
    )


class Expectations(Frozen):
    """All that is expected of one step."""

    files: tuple[ExpectedFile, ...] = Field(default=(), description="The files it is to make.")
    budget_s: Annotated[float, Field(gt=0)] | None = Field(default=None, description="How long it may take.")
    min_results: int = Field(default=1, ge=0, description="A search must bring at least so many results.")
