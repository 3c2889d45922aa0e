"""The artifact index: a run's files as a page or a program lists them, without a database."""

import logging
from pathlib import Path

from pydantic import Field

from run_record.artifact import Artifact, Frozen
from run_record.durable import replace_file
from run_record.ids import RunId
from run_record.state import File, RunState

INDEX = "index.json"
_FORMAT = 1
_log = logging.getLogger(__name__)
_KINDS = {
    "archive": "gz tar zip",
    "data": "json jsonl ndjson",
    "deck": "pptx",
    "document": "docx pdf",
    "image": "gif jpeg jpg png svg webp",
    "notebook": "ipynb py",
    "page": "htm html",
    "table": "csv feather parquet tsv",
    "text": "log md txt",
    "workbook": "xls xlsx",
}
_KIND_BY_SUFFIX = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}


class IndexedFile(Artifact):
    """A file with what a list of files says about it."""

    kind: str = Field(description="What sort of file it is: table, image, deck, …")
    step: int = Field(description="The step that made this version of it.")
    title: str = Field(description="What a person calls it.")


class ArtifactIndex(Frozen):
    """Every file of a run as its record has it."""

    format: int = Field(default=_FORMAT, description="The version of this file's format.")
    run_id: RunId = Field(description="The run.")
    state: str = Field(description="open, done, failed or cancelled.")
    files: tuple[IndexedFile, ...] = Field(description="The files, by path.")


def artifact_index(state: RunState) -> ArtifactIndex:
    files = tuple(_indexed(state.files[path]) for path in sorted(state.files))
    return ArtifactIndex(run_id=state.opened.run_id, state=state.name, files=files)


def index_bytes(state: RunState) -> bytes:
    return artifact_index(state).model_dump_json(indent=1).encode() + b"\n"


def bring_up_index(folder: Path, state: RunState) -> None:
    """Make index.json, beside the journal, say what the journal says. Derived: if it cannot be written, it is later."""
    path, wanted = folder / INDEX, index_bytes(state)
    try:
        if not path.is_file() or path.read_bytes() != wanted:
            replace_file(path, wanted)
    except OSError as error:
        _log.warning("%s is behind its journal: %s; it will be caught up", path, error)


def _indexed(file: File) -> IndexedFile:
    name = file.artifact.path.rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    title = (stem or suffix).replace("_", " ").replace("-", " ").strip()
    return IndexedFile(
        **file.artifact.model_dump(),
        kind=_KIND_BY_SUFFIX.get(suffix.lower(), "file"),
        step=file.step,
        title=title[:1].upper() + title[1:],
    )
