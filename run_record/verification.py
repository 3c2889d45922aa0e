"""Checking a run's record against everything it vouches for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from run_record.artifact_index import INDEX, artifact_index
from run_record.cel.cel_file import CEL
from run_record.cel.cel_text import cel_text
from run_record.errors import DamagedRecord
from run_record.facts import StepDone
from run_record.file_list import list_files
from run_record.ids import Sha256
from run_record.journal import HEAD, JOURNAL, Reading, read_journal
from run_record.journal_line import Entry
from run_record.known_files import KnownFiles
from run_record.object_store import ObjectStore
from run_record.record import TMP, open_workspace
from run_record.state import RunState

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not what the record says."""

    where: str
    problem: str


@dataclass(slots=True)
class Verification:
    """What was checked, what is damaged, and what is worth knowing though it is not."""

    records: int = 0
    objects: int = 0
    object_bytes: int = 0
    files: int = 0
    damage: list[Damage] = field(default_factory=list[Damage])
    remarks: list[str] = field(default_factory=list[str])


def verify(folder: Path, objects: ObjectStore, progress: Progress) -> Verification:
    """Read and hash everything again: journal, head, CEL.md, index, objects, files. Changes nothing."""
    found = Verification()
    progress("journal")
    try:
        reading = read_journal(folder)
    except DamagedRecord as error:
        found.damage.append(Damage(JOURNAL, error.problem))
        return found
    found.records = len(reading.entries)
    state = RunState(reading.entries)
    _check_ends(reading, found)
    _check_clock(reading.entries, found)
    _check_derived(folder, reading.entries, state, found)
    _check_objects(state, objects, found, progress)
    progress("files")
    _check_files(folder, state, found)
    return found


def _check_ends(reading: Reading, found: Verification) -> None:
    if not reading.is_head_whole:
        found.damage.append(Damage(HEAD, "one of its two slots is unreadable; the next entry writes it again"))
    if reading.unacknowledged_bytes:
        found.remarks.append(
            f"{reading.unacknowledged_bytes} bytes at the journal's end were never acknowledged;"
            " the next entry sets them aside"
        )


def _check_clock(entries: Sequence[Entry], found: Verification) -> None:
    back = [later.n for earlier, later in pairwise(entries) if later.at < earlier.at]
    if back:
        found.remarks.append(
            f"the clock went back before record {', '.join(map(str, back))}; order is by number, not by time"
        )


def _check_derived(folder: Path, entries: Sequence[Entry], state: RunState, found: Verification) -> None:
    text = cel_text(entries).encode()
    for path in (folder / CEL, folder / TMP / CEL):
        name = str(path.relative_to(folder))
        if not path.is_file() or path.is_symlink() or path.read_bytes() != text:
            found.damage.append(Damage(name, "it is not what the journal says; the next entry writes it again"))
    if state.closed:
        index = folder / INDEX
        expected = artifact_index(state).model_dump_json(indent=1).encode() + b"\n"
        if not index.is_file() or index.read_bytes() != expected:
            found.damage.append(Damage(INDEX, "it is not what the journal says"))


def _check_objects(state: RunState, objects: ObjectStore, found: Verification, progress: Progress) -> None:
    for sha256, where in _named_objects(state).items():
        try:
            found.object_bytes += objects.check(sha256)
        except DamagedRecord as error:
            found.damage.append(Damage(where, error.problem))
        found.objects += 1
        progress(f"{found.objects} objects")


def _named_objects(state: RunState) -> dict[Sha256, str]:
    steps: Iterator[StepDone] = (step.done for step in state.steps.values())
    return {a.sha256: f"{a.path} (step {done.step})" for done in steps for a in done.artifacts}


def _check_files(folder: Path, state: RunState, found: Verification) -> None:
    """Hashed afresh: what was known of a file's content is part of what is being checked."""
    present = {file.path: file for file in list_files(open_workspace(folder), KnownFiles()) if file.path != CEL}
    found.files = len(present)
    differing = [
        (path, "is gone" if path not in present else "has changed")
        for path, file in sorted(state.files.items())
        if path not in present or present[path].sha256 != file.artifact.sha256
    ]
    differing += [(path, "is not in the record") for path in sorted(present.keys() - state.files.keys())]
    for path, what in differing:
        if state.closed:
            found.damage.append(Damage(f"{TMP}/{path}", f"it {what} since the run was closed"))
        else:
            found.remarks.append(f"{TMP}/{path} {what} since the last step; the next step records it")
