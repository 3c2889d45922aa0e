"""What a cell's result depended on in the run's files."""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field

from run_record import Frozen, Sha256
from run_record.cel.cel_file import CEL
from sandbox import Touched

_FOLDER = Sha256("folder")
Files = Mapping[str, Sha256]
"""A run's files at one moment: the sha256 of each by its path, and every folder by its path and a slash."""


class ReadSet(Frozen):
    """Files and folders as a cell found them."""

    files: dict[str, str | None] = Field(
        description="The sha256 of each file, `folder` for a folder, or null: nothing was there."
    )
    folders: dict[str, Sha256] = Field(description="The sha256 of the names in each folder that was listed.")

    def holds(self, now: Files) -> bool:
        """Whether a cell would find all this again."""
        is_same = all(_at(path, now) == was for path, was in self.files.items())
        return is_same and all(_names_in(folder, now) == was for folder, was in self.folders.items())


NOTHING = ReadSet(files={}, folders={})
"""Of a step that looks at no file of the run."""


def snapshot(files: Mapping[str, Sha256], empty_folders: Iterable[str] = ()) -> Files:
    """Files, with the folders that they lie in and those that hold nothing."""
    folders = {folder: None for path in files for folder in _folders_above(path)}
    for folder in empty_folders:
        folders |= dict.fromkeys((f"{folder}/", *_folders_above(folder)))
    return {**files, **dict.fromkeys(folders, _FOLDER)}


def empty_folders(files: Files) -> frozenset[str]:
    """The folders in a snapshot that nothing lies in."""
    filled = {folder for path in files for folder in _folders_above(path.rstrip("/"))}
    return frozenset(path.rstrip("/") for path in files if path.endswith("/") and path not in filled)


def observed(touched: Touched, source: str, before: Files, after: Files) -> ReadSet | None:
    """The read set of a cell that has ended; None where what it read could not be seen, or is in no other run.

    A file that was made or replaced counts as looked at: whether it was there may have decided what the cell did.
    """
    existing = {*touched.read, *touched.asked, *touched.changed, *touched.deleted} - {CEL}  # the record writes it too
    is_all_known = all(_at(path, before) or _at(path, after) for path in existing)
    if not is_all_known or not touched.is_complete or CEL in touched.asked:
        return None
    above = {folder.rstrip("/") for path in touched.created for folder in _folders_above(path)}
    paths = {*existing, *touched.missed, *touched.created, *above, *_named_in(source, before), *touched.listed} - {"."}
    return ReadSet(
        files={path: _at(path, before) for path in sorted(paths)},
        folders={folder: _names_in(folder, before) for folder in touched.listed},
    )


def _at(path: str, files: Files) -> str | None:
    return files.get(path) or files.get(f"{path}/")


def _names_in(folder: str, paths: Iterable[str]) -> Sha256:
    """The sha256 of what a folder lists."""
    prefix = "" if folder == "." else f"{folder}/"
    names = {path[len(prefix) :].partition("/")[0] for path in paths if path.startswith(prefix)}
    return Sha256(hashlib.sha256("\0".join(sorted(names)).encode(errors="surrogateescape")).hexdigest())


def _folders_above(path: str) -> Iterator[str]:
    while folder := path.rpartition("/")[0]:
        yield f"{folder}/"
        path = folder


def _named_in(source: str, files: Files) -> Iterator[str]:
    """The files whose paths stand in the code as they are: it may ask for them in ways that nobody sees."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in files:
            yield node.value
