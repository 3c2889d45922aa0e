"""sandbox.exec: run a cell in the run's session."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from three_tools.contracts.wire import Wire

LONGEST_CODE = 4 << 20


class FileIn(Wire):
    """A file of the run that a cell wants under another name."""

    name: str = Field(description="Where the cell finds it, relative to its work directory.", min_length=1)
    path: str = Field(description="The file of the run to copy there, relative to tmp/.", min_length=1)


class SandboxExecArgs(Wire):
    """A cell to run. Variables persist from cell to cell of a run; files are shared with tmp.*."""

    code: str = Field(description="The cell: Python, with IPython's displays.", max_length=LONGEST_CODE)
    language: str = Field(default="python", description="The cell's language; python is the only one.")
    files_in: tuple[FileIn, ...] = Field(
        default=(), strict=False, max_length=1000, description="Files to copy to other names before the cell runs."
    )
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None, description="How many seconds it may run; left out, the run's own limit holds."
    )


class FileOut(Wire):
    """A file that a cell made or changed."""

    path: str = Field(description="Where it lies, relative to tmp/.")
    size: int = Field(description="Its length in bytes.")
    sha256: str = Field(description="The sha256 of its bytes.")


class TextDisplay(Wire):
    """A value shown as text."""

    kind: Literal["text"] = Field(default="text", description="What sort of value it is.")
    text: str = Field(description="The value as it prints.")


class TableDisplay(Wire):
    """A data frame or series as plain values."""

    kind: Literal["table"] = Field(default="table", description="What sort of value it is.")
    columns: tuple[str, ...] = Field(strict=False, description="The columns' names, the index first.")
    rows: tuple[list[JsonValue], ...] = Field(strict=False, description="The rows, as far as they are shown.")
    total_rows: int = Field(description="How many rows it has.")
    total_columns: int = Field(description="How many columns it has, without the index.")
    truncated: bool = Field(description="Whether rows or columns were left out.")


class ImageDisplay(Wire):
    """A figure, saved as a file of the run."""

    kind: Literal["image"] = Field(default="image", description="What sort of value it is.")
    path: str = Field(description="The saved picture, relative to tmp/.")
    media_type: str = Field(description="image/png, image/jpeg or image/svg+xml.")


class JsonDisplay(Wire):
    """A value shown as JSON."""

    kind: Literal["json"] = Field(default="json", description="What sort of value it is.")
    value: JsonValue = Field(description="The value.")


Display = Annotated[TextDisplay | TableDisplay | ImageDisplay | JsonDisplay, Field(discriminator="kind")]


class SandboxExecResult(Wire):
    """How a cell ended. A cell that fails is a result: ok is false and stderr ends with its traceback."""

    ok: bool = Field(description="Whether it ended well.")
    stdout: str = Field(description="What it printed; long text is cut, with a marker that says where all of it is.")
    stderr: str = Field(description="What it printed on stderr, and its traceback.")
    display: Display | None = Field(
        default=None, description="The value of its last expression, or what it showed last."
    )
    files_out: tuple[FileOut, ...] = Field(
        default=(), strict=False, description="The files it made or changed, by path."
    )
