"""A run as its record tells it: where each artifact lives, which steps passed, what is next."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from run_record import RunRecord
from run_record.plain_text import printable
from run_record.state import Step
from three_tools.errors import CallRefused


@dataclass(frozen=True, slots=True)
class Located:
    """An artifact and where it lives."""

    path: str
    file: Path
    size: int
    sha256: str
    step: int


@dataclass(frozen=True, slots=True)
class StepSummary:
    """A step in short."""

    number: int
    tool: str
    name: str
    has_passed: bool
    why_not: str
    """Why it has not passed; empty when it has."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a later step can rely on. `steps` has the last attempt of each named step, and every unnamed one."""

    run_id: str
    objective: str
    state: str
    artifacts: dict[str, Located]
    steps: tuple[StepSummary, ...]
    next_steps: tuple[str, ...]

    @property
    def passed(self) -> tuple[StepSummary, ...]:
        return tuple(step for step in self.steps if step.has_passed)

    @property
    def incomplete(self) -> tuple[StepSummary, ...]:
        return tuple(step for step in self.steps if not step.has_passed)

    def require(self, needs: Iterable[str]) -> None:
        """Refuse to go on unless each of these steps has passed, or each of these files is there."""
        named = {step.name: step for step in self.steps if step.name}
        for need in needs:
            step = named.get(need)
            if step is not None and not step.has_passed:
                raise CallRefused(
                    "invalid_sequence",
                    f"'{need}' is needed first, and step {step.number} ({step.tool}) is incomplete: {step.why_not}",
                    "mend that step and run it again",
                )
            if step is None and need not in self.artifacts:
                known = ", ".join(sorted([*named, *self.artifacts])[:10]) or "nothing yet"
                raise CallRefused(
                    "invalid_sequence",
                    f"'{printable(need)}' is needed first, and this run has neither a step nor a file of that name",
                    f"it has: {known}",
                )


def run_context(record: RunRecord) -> RunContext:
    """Parse a run's record."""
    state, root = record.state, record.workspace.root
    steps = list(state.steps.values())  # at once: another thread may be recording
    last: dict[str | int, Step] = {}
    for step in steps:
        key = step.done.name or step.done.step
        last.pop(key, None)
        last[key] = step
    return RunContext(
        run_id=state.opened.run_id,
        objective=state.opened.objective,
        state=state.name,
        artifacts={
            path: Located(path, root / path, file.artifact.size, file.artifact.sha256, file.step)
            for path, file in sorted(state.files.copy().items())
        },
        steps=tuple(_summary(step) for step in last.values()),
        next_steps=next((step.done.next_steps for step in reversed(steps) if step.done.next_steps), ()),
    )


def _summary(step: Step) -> StepSummary:
    done, judged = step.done, step.evaluation
    if judged is None:
        why_not = "it has no evaluation yet"
    elif judged.verdict == "PASS":
        why_not = ""
    else:
        why_not = f"{judged.verdict}: {judged.critique or done.detail or 'no reason given'}"
    return StepSummary(done.step, done.tool, done.name, judged is not None and judged.verdict == "PASS", why_not)
