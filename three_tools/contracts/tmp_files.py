"""tmp.write, tmp.read, tmp.list and tmp.delete: a run's files."""

from typing import Self

from pydantic import Field, model_validator

from three_tools.contracts.wire import Wire, is_absent

LONGEST_TEXT = 64 << 20
_PATH = "The file, relative to tmp/."


class TmpWriteArgs(Wire):
    """A file to write, whole. Give its content as text or as bytes, not both."""

    path: str = Field(description=_PATH, min_length=1)
    bytes_b64: str | None = Field(
        default=None, max_length=LONGEST_TEXT * 4 // 3 + 4, description="Its bytes, in base64."
    )
    text: str | None = Field(default=None, max_length=LONGEST_TEXT, description="Its text, stored as UTF-8.")

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.bytes_b64 is None) == (self.text is None):
            raise ValueError("give either text or bytes_b64, and not both")
        return self


class TmpWriteResult(Wire):
    """The file as it was written."""

    path: str = Field(description=_PATH)
    size: int = Field(description="Its length in bytes.")
    sha256: str = Field(description="The sha256 of its bytes.")


class TmpReadArgs(Wire):
    """A file to read, whole."""

    path: str = Field(description=_PATH, min_length=1)


class TmpReadResult(Wire):
    """A file's content: as text when its bytes are UTF-8 without NUL, else as base64."""

    bytes_b64: str | None = Field(
        default=None, exclude_if=is_absent, description="Its bytes in base64, when they are no text."
    )
    text: str | None = Field(default=None, exclude_if=is_absent, description="Its text.")
    size: int = Field(description="Its length in bytes.")
    sha256: str = Field(description="The sha256 of its bytes.")


class TmpListArgs(Wire):
    """Which files to list."""

    prefix: str = Field(default="", description="Only paths that begin so; empty: all files.", max_length=4096)


class TmpListedFile(Wire):
    """A file as it is now."""

    path: str = Field(description=_PATH)
    size: int = Field(description="Its length in bytes.")
    sha256: str = Field(description="The sha256 of its bytes.")
    modified_at: str = Field(description="When it was last changed, ISO 8601 in UTC.")


class TmpListResult(Wire):
    """The files, by path."""

    files: tuple[TmpListedFile, ...] = Field(strict=False, description="Each file with its hash.")


class TmpDeleteArgs(Wire):
    """A file to delete; the record keeps its bytes."""

    path: str = Field(description=_PATH, min_length=1)


class TmpDeleteResult(Wire):
    """Whether it is gone."""

    ok: bool = Field(description="True: it was there, and is deleted.")
