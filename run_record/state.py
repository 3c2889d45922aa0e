"""What a run's facts add up to."""

from collections.abc import Iterable
from dataclasses import dataclass

from run_record.artifact import Artifact
from run_record.errors import DamagedRecord, NotFound
from run_record.facts import AttemptStarted, NoteAdded, RunClosed, RunOpened, StepDone, StepEvaluated
from run_record.journal_line import HOW_TO_MEND, Entry


@dataclass(slots=True)
class Step:
    """A step and what the Evaluator last said of it."""

    done: StepDone
    at: str
    evaluation: StepEvaluated | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file of the run and the step that made this version of it."""

    artifact: Artifact
    step: int


class RunState:
    """Folded from the journal, entry by entry; each takes the same time however long the run is.

    `files` is what the run has now, `touched` the last step that made or removed each path, `pending`
    the steps without an evaluation, `unjudged` those and the ones that could not be evaluated, `citations`
    the files to cite from, as searches wrote them, `begun` the attempts that have not ended.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._opened: tuple[str, RunOpened] | None = None
        self.closed_at = ""
        self.closed: RunClosed | None = None
        self.steps: dict[int, Step] = {}
        self.files: dict[str, File] = {}
        self.touched: dict[str, int] = {}
        self.skipped: dict[str, str] = {}
        self.citations: set[Artifact] = set()
        self.pending: dict[int, Step] = {}
        self.unjudged: dict[int, Step] = {}
        self.attempts: dict[str, int] = {}
        self.begun: dict[tuple[str, int], AttemptStarted] = {}
        self.notes: list[tuple[str, NoteAdded]] = []
        for entry in entries:
            self.absorb(entry)

    def absorb(self, entry: Entry) -> None:
        fact = entry.fact
        match fact:
            case RunOpened():
                self._opened = (entry.at, fact)
            case AttemptStarted():
                self.attempts[fact.name] = max(fact.attempt, self.attempts.get(fact.name, 0))
                self.begun[fact.name, fact.attempt] = fact
            case StepDone():
                self._absorb_step(Step(fact, entry.at))
            case StepEvaluated():
                self._absorb_evaluation(self.step(fact.step), fact)
            case NoteAdded():
                self.notes.append((entry.at, fact))
            case RunClosed():
                self.closed, self.closed_at = fact, entry.at

    def _absorb_step(self, step: Step) -> None:
        if step.done.step != self.next_step:
            raise DamagedRecord(f"step {step.done.step} follows step {len(self.steps)}", HOW_TO_MEND)
        number = step.done.step
        self.begun.pop((step.done.name, step.done.attempt), None)
        self.steps[number] = self.pending[number] = self.unjudged[number] = step
        for artifact in step.done.artifacts:
            self.files[artifact.path] = File(artifact, step.done.step)
            self.touched[artifact.path] = step.done.step
            self.skipped.pop(artifact.path, None)
        for path in step.done.removed:
            self.files.pop(path, None)
            self.touched[path] = step.done.step
        self.skipped.update(step.done.skipped)
        if step.done.citations is not None:
            self.citations.add(step.done.citations)

    def _absorb_evaluation(self, step: Step, evaluation: StepEvaluated) -> None:
        step.evaluation = evaluation
        self.pending.pop(evaluation.step, None)
        if evaluation.verdict == "NOT EVALUATED":
            self.unjudged[evaluation.step] = step
        else:
            self.unjudged.pop(evaluation.step, None)

    def files_after(self, number: int) -> dict[str, File]:
        """The files as they were after a step."""
        if number == len(self.steps):
            return dict(self.files)
        files: dict[str, File] = {}
        for step in list(self.steps.values())[:number]:
            files |= {artifact.path: File(artifact, step.done.step) for artifact in step.done.artifacts}
            for path in step.done.removed:
                files.pop(path, None)
        return files

    def step(self, number: int) -> Step:
        try:
            return self.steps[number]
        except KeyError:
            raise NotFound(f"this run has no step {number}", f"its last step is {len(self.steps)}") from None

    @property
    def opened(self) -> RunOpened:
        return self._first()[1]

    @property
    def opened_at(self) -> str:
        return self._first()[0]

    def _first(self) -> tuple[str, RunOpened]:
        if self._opened is None:
            raise DamagedRecord("the journal's first record does not open a run", HOW_TO_MEND)
        return self._opened

    @property
    def name(self) -> str:
        """open, done, failed or cancelled"""
        return self.closed.state if self.closed else "open"

    @property
    def next_step(self) -> int:
        return len(self.steps) + 1
