"""One run's record, kept together: files, objects, journal, and CEL.md."""

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

from pydantic import JsonValue

from run_record.artifact import Artifact
from run_record.artifact_index import bring_up_index
from run_record.cel.cel_file import CEL, CelFile
from run_record.cel.cel_text import CelText, Edit
from run_record.changes import ChangeDetector, Sighting, changes
from run_record.clock import Clock
from run_record.errors import CallerError, NotFound, RunIsClosed, RunRecordError, StepsPending
from run_record.facts import AttemptStarted, EndState, Fact, NoteAdded, RunClosed, StepDone, StepEvaluated
from run_record.incoming import Incoming
from run_record.journal import THE_RECORD, HeldJournal, Journal
from run_record.journal_line import Entry
from run_record.known_files import KnownFiles
from run_record.object_store import ObjectStore
from run_record.state import RunState
from run_record.workspace import Workspace

INCOMING = "incoming"
KNOWN_FILES = "known_files.json"
TMP = "tmp"
_LONGEST_NOTE = 100_000
_TAMPERED = "tmp/CEL.md was changed by something other than the record; it was written anew from the journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as it is to be recorded; its number and its files the record finds out."""

    tool: str
    name: str = ""
    attempt: int = 0
    inputs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    did: tuple[str, ...] = ()
    ok: bool = True
    cached: bool = False
    seconds: float = 0.0
    next_steps: tuple[str, ...] = ()
    source: str = ""
    code: str = ""
    cause: str = ""
    detail: str = ""
    stderr: str = ""
    killed_processes: int = 0
    results: int | None = None
    citations: Artifact | None = None
    expects: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def open_workspace(folder: Path) -> Workspace:
    """The workspace of the run in that folder."""
    return Workspace(folder / TMP, Incoming(folder / INCOMING), reserved=CEL)


class RunRecord:
    """Records what happens in one run: steps with their files, evaluations, notes, the end.

    Objects are durable before the journal names them, and the journal before CEL.md shows it.
    Several processes may record at once; only the holder of the lease may run cells.
    """

    def __init__(self, folder: Path, objects: ObjectStore, clock: Clock) -> None:
        incoming = Incoming(folder / INCOMING)
        self.folder = folder
        self.workspace = open_workspace(folder)
        self.state = RunState()
        self._journal = Journal(folder, clock)
        self._known = KnownFiles.load(folder / KNOWN_FILES)
        self._objects = objects
        self._detector = ChangeDetector(self.workspace, objects, self._known)
        self._cel = CelText(self.state)
        self._cel_file = CelFile(folder, incoming, 0o600)
        self._cel_copy = CelFile(folder / TMP, incoming, 0o644)
        for entry in self._journal.read_on():
            self._absorb(entry)
        with self._held() as journal:
            if not journal.news:
                self._bring_up_cel(journal)
            if self.state.closed:
                bring_up_index(self.folder, self.state)

    def look(self, paths: Iterable[str] | None = None) -> Sighting:
        """What lies in the workspace now, or at a few paths of it, every byte of it in the object store."""
        self.require_open()
        # Reading and storing may take long, so the journal is not held meanwhile.
        return self._detector.look(self.state, None if paths is None else frozenset(paths))

    def begin_attempt(self, tool: str, name: str) -> int:
        """Record that a named step is begun, so that a crash cannot hide it; which try it is."""
        with self._held() as journal:
            self._require_open()
            attempt = self.state.attempts.get(name, 0) + 1
            self._append(journal, AttemptStarted(tool=tool, name=name, attempt=attempt))
        return attempt

    def restore(self, artifacts: Iterable[Artifact], removed: Iterable[str] = ()) -> Sighting:
        """Bring files back as the object store has them, and take away others: a sighting of just these paths.

        DamagedRecord if an object is missing or is not what it was; then the files are as the record has them.
        """
        self.require_open()
        kept, gone = {artifact.path: artifact for artifact in artifacts}, frozenset(removed)
        try:
            for artifact in kept.values():
                self.workspace.restore(artifact, self._objects)
            for path in gone:
                with suppress(NotFound):
                    self.workspace.delete(path)
        except RunRecordError:
            self.bring_to(self.files(), self.workspace.empty_folders())
            raise
        news = {path: each for path, each in kept.items() if self._recorded(path) != each}
        return Sighting(len(self.state.steps), gone | kept.keys(), set(kept), news, {})

    def files(self, after_step: int | None = None) -> dict[str, Artifact]:
        """The files as the record has them, now or as they were after a step."""
        number = len(self.state.steps) if after_step is None else after_step
        return {path: file.artifact for path, file in self.state.files_after(number).items()}

    def present(self) -> dict[str, Artifact]:
        """The files that lie in the workspace, whether the record has them or not."""
        seen, recorded = self.look(), self.files()
        artifacts = {path: seen.changed.get(path) or recorded.get(path) for path in seen.present}
        return {path: artifact for path, artifact in artifacts.items() if artifact is not None}

    def bring_to(self, files: Mapping[str, Artifact], empty_folders: Collection[str]) -> None:
        """Have the workspace hold these files and folders and no others; what lay there is in the object store."""
        now = self.present()
        for path, artifact in files.items():
            if now.get(path) != artifact:
                self.workspace.restore(artifact, self._objects)
        for path in now.keys() - files.keys():
            with suppress(CallerError):  # gone since, or never a plain file
                self.workspace.delete(path)
        for folder in self.workspace.empty_folders().difference(empty_folders):
            self.workspace.drop_folder(folder)
        for folder in empty_folders:
            self.workspace.make_folder(folder)

    def _recorded(self, path: str) -> Artifact | None:
        file = self.state.files.get(path)
        return file.artifact if file else None

    def record_step(self, call: Call, seen: Sighting | None = None) -> StepDone:
        """Record a tool call with every file that changed since the step before.

        A call that touches known paths only, such as an upload beside a running cell, gives its own `look` at them.
        """
        seen = seen or self.look()
        with self._held() as journal:
            self._require_open()
            found = changes(seen, self.state)
            done = StepDone(
                step=self.state.next_step,
                artifacts=found.artifacts,
                removed=found.removed,
                skipped=found.skipped,
                **{each.name: getattr(call, each.name) for each in fields(call)},
            )
            self._append(journal, done)
        self._known.save(self.folder / KNOWN_FILES)
        return done

    def record_evaluation(self, evaluation: StepEvaluated) -> None:
        """Record what the Evaluator said of a step."""
        with self._held() as journal:
            self._require_open()
            self.state.step(evaluation.step)
            self._append(journal, evaluation)

    def note(self, by: str, text: str) -> None:
        """Add somebody's note, also to a closed run."""
        if by == THE_RECORD:
            raise CallerError(f"nobody but the record signs as '{by}'", "sign with another name: PARTNER_AUTHOR")
        if len(text) > _LONGEST_NOTE:
            problem = f"the note is {len(text):,} characters long, {_LONGEST_NOTE:,} is the most"
            raise CallerError(problem, "write it to a file of the run: `partner files write`")
        with self._held() as journal:
            self._append(journal, NoteAdded(by=by, text=text))

    def close(self, state: EndState, reason: str = "") -> None:
        """End the run: nothing but notes can follow."""
        with self._held() as journal:
            self._require_open()
            if self.state.pending:
                steps = ", ".join(map(str, self.state.pending))
                raise StepsPending(f"steps {steps} have no evaluation yet", "evaluate them, then close the run")
            self._append(journal, RunClosed(state=state, reason=reason))
            bring_up_index(self.folder, self.state)

    def catch_up(self) -> None:
        """Take in what other processes recorded meanwhile."""
        with self._held():
            return

    def require_open(self) -> None:
        """Refuse whatever a closed run does not take, whoever closed it."""
        self.catch_up()
        self._require_open()

    def _require_open(self) -> None:
        if self.state.closed:
            raise RunIsClosed(
                f"run {self.state.opened.run_id} is closed ({self.state.closed.state})",
                "it takes notes only (`partner note`); open a new run to go on",
            )

    @contextmanager
    def _held(self) -> Generator[HeldJournal]:
        """The journal, locked, after catching up with what other processes recorded."""
        with self._journal.held() as journal:
            for entry in journal.news:
                self._absorb(entry)
            if journal.news:
                self._bring_up_cel(journal)
            yield journal

    def _bring_up_cel(self, journal: HeldJournal) -> None:
        self._cel_file.bring_up(self._cel.text())
        if not self._cel_copy.bring_up(self._cel.text()):
            self._note_tampering(journal)

    def _append(self, journal: HeldJournal, fact: Fact) -> None:
        if not self._append_quietly(journal, fact):
            self._note_tampering(journal)

    def _note_tampering(self, journal: HeldJournal) -> None:
        """Once: a cell that goes on changing its copy meanwhile must not keep us busy."""
        self._append_quietly(journal, NoteAdded(by=THE_RECORD, text=_TAMPERED))

    def _append_quietly(self, journal: HeldJournal, fact: Fact) -> bool:
        """Append and show; False if the copy that cells see was not as we had left it."""
        edit = self._absorb(journal.append(fact))
        self._cel_file.apply(edit, self._cel.text)
        return self._cel_copy.apply(edit, self._cel.text)

    def _absorb(self, entry: Entry) -> Edit:
        self.state.absorb(entry)
        return self._cel.feed(entry)
