"""What changed in a workspace since a run's record last looked, with every changed file safe in the object store."""

import os
import time
from dataclasses import dataclass

from run_record.artifact import Artifact
from run_record.cel.cel_file import CEL
from run_record.errors import CallerError
from run_record.hashed_copy import hash_file
from run_record.known_files import KnownFiles
from run_record.object_store import ObjectStore
from run_record.scan import Signature
from run_record.state import RunState
from run_record.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Sighting:
    """The files of a workspace at one moment, none of them able to get lost any more."""

    after_step: int
    files: dict[str, Artifact]
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between a sighting and what the record has."""

    artifacts: tuple[Artifact, ...]
    removed: tuple[str, ...]
    skipped: dict[str, str]


class ChangeDetector:
    """Finds the files that changed, reading only those that might have, and stores their bytes."""

    def __init__(self, workspace: Workspace, objects: ObjectStore, known: KnownFiles) -> None:
        self._workspace = workspace
        self._objects = objects
        self._known = known

    def look(self, state: RunState) -> Sighting:
        """See what is there now and store what the record does not have yet."""
        seen = Sighting(len(state.steps), {}, {})
        found = self._workspace.scan()
        seen.skipped.update(found.skipped)
        for path, signature in found.files.items():
            if path == CEL:
                continue  # the record's own copy
            recorded = state.files.get(path)
            sha256 = self._known.content(path, signature)
            if recorded is not None and recorded.artifact.sha256 == sha256:
                seen.files[path] = recorded.artifact
                continue
            try:
                seen.files[path] = self._store(path, recorded.artifact if recorded else None)
            except CallerError as error:
                seen.skipped[path] = error.problem  # removed or swapped since the scan
        return seen

    def _store(self, path: str, recorded: Artifact | None) -> Artifact:
        began_ns = time.time_ns()
        with self._workspace.open(path) as file:
            status = os.fstat(file.fileno())
            # A file that was touched but holds the same is only read, not copied.
            if (
                recorded is not None
                and recorded.size == status.st_size
                and hash_file(file.fileno())[1] == recorded.sha256
            ):
                artifact = recorded
            else:
                size, sha256 = self._objects.put(file.fileno())
                artifact = Artifact(path=path, size=size, sha256=sha256)
        self._known.learn(path, Signature.of(status), artifact.sha256, read_from_ns=began_ns)
        return artifact


def changes(seen: Sighting, state: RunState) -> Changes:
    """What the record lacks. What another process recorded since the sighting is newer than it, and stays."""
    newer = {path for path, file in state.files.items() if file.step > seen.after_step}
    artifacts = [
        artifact
        for path, artifact in sorted(seen.files.items())
        if path not in newer and (path not in state.files or state.files[path].artifact != artifact)
    ]
    removed = sorted(path for path in state.files if path not in seen.files and path not in newer)
    skipped = {path: reason for path, reason in sorted(seen.skipped.items()) if state.skipped.get(path) != reason}
    return Changes(tuple(artifacts), tuple(removed), skipped)
