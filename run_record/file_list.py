"""A workspace's files as `tmp.list` gives them."""

import os
import time
from datetime import UTC, datetime

from pydantic import Field

from run_record.artifact import Artifact
from run_record.clock import timestamp
from run_record.errors import CallerError
from run_record.hashed_copy import hash_file
from run_record.known_files import KnownFiles
from run_record.scan import Signature
from run_record.workspace import Workspace

_LAST_SECOND = 253_402_300_799  # of the year 9999


class ListedFile(Artifact):
    """A file as it is now."""

    modified_at: str = Field(description="When it was last changed, by the file system's word.")


def list_files(workspace: Workspace, known: KnownFiles, prefix: str = "") -> list[ListedFile]:
    """The plain files whose paths begin with `prefix`, by path; hashes only those that are not known."""
    found = workspace.scan().files
    listed: list[ListedFile] = []
    for path in sorted(path for path in found if path.startswith(prefix)):
        try:
            listed.append(_listed(workspace, known, path, found[path]))
        except CallerError:
            continue  # removed or swapped since the scan
    return listed


def _listed(workspace: Workspace, known: KnownFiles, path: str, signature: Signature) -> ListedFile:
    size, sha256 = signature.size, known.content(path, signature)
    if sha256 is None:
        began_ns = time.time_ns()
        with workspace.open(path) as file:
            os.fdatasync(file.fileno())  # as in `changes`: for stores through a kept mapping
            signature = Signature.of(os.fstat(file.fileno()))
            size, sha256 = hash_file(file.fileno())
        known.learn(path, signature, sha256, read_from_ns=began_ns)
    # A cell may date its files as it likes, also beyond what a calendar holds.
    seconds = min(max(signature.mtime_ns / 1e9, 0), _LAST_SECOND)
    moment = datetime.fromtimestamp(seconds, UTC)
    return ListedFile(path=path, size=size, sha256=sha256, modified_at=timestamp(moment))
