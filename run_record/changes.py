"""What changed in a workspace since a run's record last looked, with every changed file safe in the object store."""

import os
import time
from dataclasses import dataclass
from typing import BinaryIO

from run_record.artifact import Artifact
from run_record.cel.cel_file import CEL
from run_record.errors import CallerError, NotFound
from run_record.hashed_copy import hash_file
from run_record.ids import Sha256
from run_record.known_files import KnownFiles
from run_record.object_store import ObjectStore
from run_record.scan import Signature
from run_record.state import RunState
from run_record.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Sighting:
    """The files of a workspace at one moment, none of them able to get lost any more."""

    after_step: int
    paths: frozenset[str] | None  # the paths that were looked at; None for all
    present: set[str]  # of these, the plain files
    changed: dict[str, Artifact]  # of those, what is not as the record had it
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between a sighting and what the record has."""

    artifacts: tuple[Artifact, ...]
    removed: tuple[str, ...]
    skipped: dict[str, str]

    @property
    def is_anything(self) -> bool:
        return bool(self.artifacts or self.removed or self.skipped)


class ChangeDetector:
    """Finds the files that changed, reading only those that might have, and stores their bytes."""

    def __init__(self, workspace: Workspace, objects: ObjectStore, known: KnownFiles) -> None:
        self._workspace = workspace
        self._objects = objects
        self._known = known

    def look(self, state: RunState, paths: frozenset[str] | None = None) -> Sighting:
        """See what is there now, everywhere or at a few paths, and store what the record does not have yet."""
        after_step = len(state.steps)  # before the scan: what is recorded during it is newer than what it finds
        found = self._workspace.scan() if paths is None else self._workspace.scan_paths(paths)
        if paths is None:
            self._known.forget_all_but(found.files)
        seen = Sighting(after_step, paths, set(found.files), {}, dict(found.skipped))
        recorded_files, content = state.files, self._known.content
        for path, signature in found.files.items():
            recorded = recorded_files.get(path)
            if recorded is None or recorded.artifact.sha256 != content(path, signature):
                self._look_closer(path, recorded.artifact if recorded else None, seen)
        return seen

    def _look_closer(self, path: str, recorded: Artifact | None, seen: Sighting) -> None:
        if path == CEL:
            return  # the record's own copy
        try:
            artifact = self._store(path, recorded)
        except CallerError as error:  # removed or swapped since the scan
            seen.present.discard(path)
            if not isinstance(error, NotFound):
                seen.skipped[path] = error.problem
        else:
            if artifact != recorded:
                seen.changed[path] = artifact

    def _store(self, path: str, recorded: Artifact | None) -> Artifact:
        began_ns = time.time_ns()
        with self._workspace.open(path) as file:
            # Clean pages are write-protected: a later store through a mapping that a cell kept then shows in ctime.
            os.fdatasync(file.fileno())
            status = os.fstat(file.fileno())
            # A file that was touched but holds the same is only read, not copied.
            if recorded is not None and recorded.size == status.st_size and _hash_of(file) == recorded.sha256:
                artifact = recorded
            else:
                size, sha256 = self._objects.put(file.fileno())
                artifact = Artifact(path=path, size=size, sha256=sha256)
        self._known.learn(path, Signature.of(status), artifact.sha256, read_from_ns=began_ns)
        return artifact


def changes(seen: Sighting, state: RunState) -> Changes:
    """What the record lacks. What another process recorded since the sighting is newer than it, and stays."""

    def is_news(path: str) -> bool:
        return state.touched.get(path, 0) <= seen.after_step

    artifacts = [artifact for path, artifact in sorted(seen.changed.items()) if is_news(path)]
    looked_at = state.files.keys() if seen.paths is None else seen.paths & state.files.keys()
    removed = sorted(path for path in looked_at - seen.present if is_news(path))
    skipped = {path: reason for path, reason in sorted(seen.skipped.items()) if state.skipped.get(path) != reason}
    return Changes(tuple(artifacts), tuple(removed), skipped)


def _hash_of(file: BinaryIO) -> Sha256:
    return hash_file(file.fileno())[1]
