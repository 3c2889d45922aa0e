"""What a recipe is: everything that its recipe.toml and its notebook say, checked."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from recipes.notebook import NotebookCell

Kind = Literal["text", "integer", "number", "boolean", "date", "choice", "list"]
ColumnKind = Literal["any", "number", "integer", "text", "date", "boolean"]
TimeoutS = Annotated[float, Field(gt=0, le=86_400)]
Retries = Annotated[int, Field(ge=0, le=10)]
DelayS = Annotated[float, Field(ge=0, le=3600)]


def _beneath(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\\" in path or "" in parts:
        raise ValueError(f"'{path}' must be a path beneath the run's folder, such as artifacts/report.html")
    return path


RunPath = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_beneath)]


class Frozen(BaseModel):
    """What every model that crosses a border has in common: it does not change and takes no unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameter(Frozen):
    """Something that whoever runs the recipe may choose."""

    name: str = Field(description="How cells and the command line call it.", pattern=r"^[a-z][a-z0-9_]{0,39}$")
    type: Kind = Field(description="What kind of value it takes.")
    default: JsonValue = Field(default=None, description="Its value when none is given; none: it must be given.")
    least: float | None = Field(default=None, description="The smallest value allowed.")
    most: float | None = Field(default=None, description="The largest value allowed.")
    choices: tuple[str, ...] = Field(default=(), description="The values that a choice allows.")
    description: str = Field(default="", description="What it changes, in a sentence.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("choices belong to a parameter of type choice, which must have some")
        if self.type not in ("integer", "number") and (self.least is not None or self.most is not None):
            raise ValueError(f"least and most belong to numbers, not to a {self.type}")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"least ({self.least:g}) is above most ({self.most:g})")
        return self

    @property
    def is_required(self) -> bool:
        return self.default is None


class Input(Frozen):
    """A file that the recipe works on."""

    name: str = Field(description="How the command line calls it.", pattern=r"^[a-z][a-z0-9_-]{0,39}$")
    file: RunPath = Field(description="What cells call it.")
    description: str = Field(default="", description="What it holds, in a sentence.")
    columns: dict[str, ColumnKind] = Field(
        default_factory=dict[str, ColumnKind], description="The columns a table must have, and of what kind."
    )
    min_rows: int = Field(default=1, ge=0, description="A table must have at least so many rows.")
    is_required: bool = Field(default=True, description="Whether the recipe runs only with it.")
    sample: RunPath | None = Field(default=None, description="An example, beneath sample_data/.")


class Search(Frozen):
    """A search to make before the cells; its texts are Jinja templates."""

    name: str = Field(description="What the search is for.", pattern=r"^[a-z][a-z0-9_-]{0,39}$")
    query: str = Field(description="The words to look for; sees parameters, objective, as_of and item.", min_length=1)
    top_k: int = Field(default=5, ge=1, le=20, description="How many results at most.")
    include_page: bool = Field(default=False, description="Whether to bring each page's text too.")
    date_range: str | None = Field(default=None, description="Published when: week, 90d, 2026-01-01..2026-06-30.")
    allow_domains: tuple[str, ...] = Field(default=(), description="Only these domains; none: all.")
    for_each: str | None = Field(default=None, description="A list parameter: one search for each `item` of it.")
    freshness_h: float = Field(default=24, gt=0, description="How old an answer from the cache may be.")
    timeout_s: TimeoutS = Field(default=60, description="How long each try may wait for an answer.")
    retries: Retries = Field(default=0, description="How often it is tried again when it fails.")
    retry_delay_s: DelayS = Field(default=1, description="How long to wait before it is.")


class RecipeCell(Frozen):
    """A cell of the notebook, with what recipe.toml says of it."""

    name: str = Field(description="Its name in the notebook.")
    source: str = Field(description="Its code.")
    line: int = Field(default=1, ge=1, description="The line of notebook.py that its code begins on.")
    timeout_s: TimeoutS = Field(default=60, description="How long it may run.")
    retries: Retries = Field(default=0, description="How often it is tried again when it fails.")
    retry_delay_s: DelayS = Field(default=1, description="How long to wait before it is.")
    reads: tuple[RunPath, ...] = Field(default=(), description="Files it reads, as far as its code does not show it.")
    expects: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue], description="What the Evaluator is to expect of it, as it was written."
    )

    @property
    def makes(self) -> tuple[str, ...]:
        """The paths and patterns of the files that it is expected to make."""
        files = self.expects.get("files")
        listed = files if isinstance(files, list) else []
        return tuple(str(file["path"]) for file in listed if isinstance(file, dict) and "path" in file)


class Recipe(Frozen):
    """A recipe that can be run."""

    name: str = Field(description="Its folder's name.")
    folder: Path = Field(description="Where it lies.")
    title: str = Field(description="What people call it.")
    purpose: str = Field(description="What it does, in a sentence.")
    objective: str = Field(description="The question it answers when none is given.")
    deliverables: tuple[str, ...] = Field(description="The files that whoever asked is to get.")
    fail_fast: bool = Field(description="Whether the first FAIL verdict ends the run.")
    parameters: dict[str, Parameter] = Field(description="By name.")
    inputs: dict[str, Input] = Field(description="By name.")
    searches: tuple[Search, ...] = Field(description="In the order of recipe.toml.")
    cells: tuple[RecipeCell, ...] = Field(description="The code cells, in the notebook's order.")
    notebook: tuple[NotebookCell, ...] = Field(description="All cells as they stand in notebook.py, prose too.")

    @property
    def templates(self) -> dict[str, Path]:
        """Its templates, by the names that cells call them: templates/report.html.j2."""
        return {
            path.relative_to(self.folder).as_posix(): path
            for path in sorted(self.folder.glob("templates/**/*"))
            if path.is_file()
        }

    @property
    def documents(self) -> Path | None:
        """The folder that its sample searches, if it has one."""
        folder = self.folder / "sample_data" / "documents"
        return folder if folder.is_dir() else None
