"""Checking a run's record against everything it vouches for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from run_record.artifact_index import INDEX, index_bytes
from run_record.cel.cel_file import CEL, read_cel
from run_record.cel.cel_text import cel_text
from run_record.errors import DamagedRecord
from run_record.facts import StepDone
from run_record.file_list import list_files
from run_record.ids import Sha256
from run_record.journal import HEAD, JOURNAL, Reading, held_for_reading
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
        with held_for_reading(folder) as reading:
            state = RunState(reading.entries)
            _check_derived(folder, reading.entries, state, found)
    except DamagedRecord as error:
        found.damage.append(Damage(JOURNAL, error.problem))
        return found
    found.records = len(reading.entries)
    _check_ends(reading, found)
    _check_clock(reading.entries, found)
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
    for name, place in ((CEL, folder), (f"{TMP}/{CEL}", folder / TMP)):
        try:
            is_right = read_cel(place, len(text))[0] == text
        except OSError:
            is_right = False
        if not is_right:
            found.damage.append(Damage(name, "it is not what the journal says; the next entry writes it again"))
    if state.closed:
        index = folder / INDEX
        if not index.is_file() or index.read_bytes() != index_bytes(state):
            found.damage.append(Damage(INDEX, "it is not what the journal says; the next entry writes it again"))


def _check_objects(state: RunState, objects: ObjectStore, found: Verification, progress: Progress) -> None:
    named = _named_objects(state)
    for sha256, where in named.items():
        progress(f"object {found.objects + 1} of {len(named)}")
        try:
            found.object_bytes += objects.check(sha256)
        except DamagedRecord as error:
            found.damage.append(Damage(where, error.problem))
        found.objects += 1


def _named_objects(state: RunState) -> dict[Sha256, str]:
    steps: Iterator[StepDone] = (step.done for step in state.steps.values())
    return {a.sha256: f"{a.path} (step {done.step})" for done in steps for a in done.artifacts}


def _check_files(folder: Path, state: RunState, found: Verification) -> None:
    """Hashed afresh: what was known of a file's content is part of what is being checked."""
    if not (folder / TMP).is_dir():
        found.damage.append(Damage(TMP, "the folder with the run's files is gone"))
        return
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
            found.remarks.append(f"{TMP}/{path} {what} since the last step")
