"""What a cell's result depended on in the run's files."""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field

from run_record import Frozen, Sha256
from run_record.cel.cel_file import CEL
from sandbox import Touched

_FOLDER = "folder"
Files = Mapping[str, Sha256]
"""A run's files at one moment: the sha256 of each, by its path."""


class ReadSet(Frozen):
    """Files and folders as a cell found them."""

    files: dict[str, str | None] = Field(
        description="The sha256 of each file, `folder` for a folder, or null: nothing was there."
    )
    folders: dict[str, Sha256] = Field(description="The sha256 of the names in each folder that was listed.")

    def holds(self, now: Files, own: Files) -> bool:
        """Whether a cell would find all this again; what it made itself (`own`) may lie there already."""
        made = {path for path, sha256 in own.items() if now.get(path) == sha256 and self.files.get(path, "") is None}
        others = {path: sha256 for path, sha256 in now.items() if path not in made} if made else now
        is_same = all(was in (_at(path, now), _at(path, others)) for path, was in self.files.items())
        return is_same and all(names_in(folder, others) == was for folder, was in self.folders.items())


NOTHING = ReadSet(files={}, folders={})
"""Of a step that looks at no file of the run."""


def observed(touched: Touched, source: str, before: Files) -> ReadSet | None:
    """The read set of a cell that has ended; None where what it read could not be seen, or is in no other run.

    A file that was made or replaced counts as looked at: whether it was there may have decided what the cell did.
    """
    existing = {*touched.read, *touched.asked, *touched.changed, *touched.deleted, *_named_in(source, before)}
    absent = {*touched.missed, *touched.created}
    if not touched.is_complete or CEL in existing:
        return None
    files = {path: _at(path, before) for path in sorted(existing | absent)}
    return ReadSet(files=files, folders={folder: names_in(folder, before) for folder in touched.listed})


def _at(path: str, files: Files) -> str | None:
    found = files.get(path)
    if found is None and any(each.startswith(f"{path}/") for each in files):
        return _FOLDER
    return found


def names_in(folder: str, paths: Iterable[str]) -> Sha256:
    """The sha256 of what a folder lists."""
    prefix = "" if folder == "." else f"{folder}/"
    names = {path[len(prefix) :].partition("/")[0] for path in paths if path.startswith(prefix)}
    return Sha256(hashlib.sha256("\0".join(sorted(names)).encode(errors="surrogateescape")).hexdigest())


def _named_in(source: str, files: Files) -> Iterator[str]:
    """The files whose paths stand in the code as they are: it may ask for them in ways that nobody sees."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in files:
            yield node.value
