"""CEL.md as text: what each fact of a run adds to its end."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from run_record.cel.sections import header, late_evaluation, note, summary
from run_record.cel.step_block import PENDING, block_of, evaluation_text, render
from run_record.errors import NotFound
from run_record.facts import AttemptStarted, NoteAdded, RunClosed, RunOpened, StepDone, StepEvaluated
from run_record.journal_line import Entry
from run_record.plain_text import markdown
from run_record.state import RunState


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to the end of CEL.md: drop so many bytes, then add this text."""

    drop: int = 0
    add: str = ""


class CelText:
    """Turns entries, in order, into edits of CEL.md's end.

    While a step waits for its evaluation its block is the last; whatever comes meanwhile waits behind it.
    So blocks stand in order of their steps, and nothing above the last line is ever touched.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._pending = 0
        self._waiting: deque[Entry] = deque()
        self._judged_early: dict[int, StepEvaluated] = {}
        self._parts: list[str] = []

    def text(self) -> str:
        """The whole of CEL.md so far."""
        return "".join(self._parts)

    def feed(self, entry: Entry) -> Edit:
        """What an entry changes; the state has absorbed it before."""
        edit = self._edit(entry)
        if edit.drop:
            self._parts[-1] = self._parts[-1][: -edit.drop]  # the end of the block that was pending
        if edit.add:
            self._parts.append(edit.add)
        return edit

    def _edit(self, entry: Entry) -> Edit:
        if not self._pending:
            return Edit(add=self._text(entry))
        fact = entry.fact
        if isinstance(fact, StepEvaluated) and fact.step == self._pending:
            self._pending = 0
            return Edit(len(f"{PENDING}\n"), f"{markdown(evaluation_text(fact))}\n{self._flush()}")
        if isinstance(fact, StepEvaluated) and fact.step > self._pending:
            self._judged_early[fact.step] = fact
        else:
            self._waiting.append(entry)
        return Edit()

    def _flush(self) -> str:
        parts: list[str] = []
        while self._waiting and not self._pending:
            parts.append(self._text(self._waiting.popleft()))
        return "".join(parts)

    def _text(self, entry: Entry) -> str:
        fact = entry.fact
        match fact:
            case RunOpened():
                return header(fact, entry.at)
            case AttemptStarted():
                return ""  # its end is a Step Block, also when it was lost
            case StepDone():
                evaluation = self._judged_early.pop(fact.step, None)
                self._pending = 0 if evaluation else fact.step
                return f"\n{render(block_of(fact, entry.at, evaluation))}"
            case StepEvaluated():
                return late_evaluation(fact, entry.at)
            case NoteAdded():
                return note(fact, entry.at)
            case RunClosed():
                return summary(fact, entry.at, self._state)


def cel_text(entries: Iterable[Entry]) -> str:
    """The whole of CEL.md."""
    state = RunState()
    cel = CelText(state)
    for entry in entries:
        state.absorb(entry)
        cel.feed(entry)
    return cel.text()


def entries_as_of(entries: Sequence[Entry], step: int) -> list[Entry]:
    """The entries behind CEL.md as it stood when `step` was its last and had its first evaluation."""
    starts = {entry.fact.step: entry.n for entry in entries if isinstance(entry.fact, StepDone)}
    if step not in starts:
        raise NotFound(f"this run has no step {step}", f"its steps end at {max(starts, default=0)}")
    ends_before = starts.get(step + 1, len(entries) + 1)
    judged: set[int] = set()
    shown: list[Entry] = []
    for entry in entries:
        fact = entry.fact
        if isinstance(fact, StepEvaluated):
            is_shown = fact.step <= step and (entry.n < ends_before or fact.step not in judged)
            judged.add(fact.step)
        else:
            is_shown = entry.n < ends_before
        if is_shown:
            shown.append(entry)
    return shown
