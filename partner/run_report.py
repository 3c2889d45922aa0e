"""A run as one object: what `partner show` prints with --json, and every door that reports on a run."""

from datetime import datetime
from pathlib import Path

from pydantic import Field

from run_record.artifact import Artifact, Frozen
from run_record.cel.cel_file import CEL
from run_record.facts import StepEvaluated, Verdict
from run_record.ids import RunId
from run_record.record import TMP
from run_record.state import RunState, Step

DELIVERABLES = "artifacts/"


class Evaluation(Frozen):
    """What the Evaluator said of a step."""

    verdict: Verdict = Field(description="PASS, FAIL or NOT EVALUATED.")
    completeness: float | None = Field(description="0 to 1: all required files made?")
    correctness: float | None = Field(description="0 to 1: do they pass their checks?")
    evidence: float | None = Field(description="0 to 1: do claims have sources?")
    hygiene: float | None = Field(description="0 to 1: no warnings, within its time?")
    aggregate: float | None = Field(description="The mean of the four.")
    critique: str = Field(description="What failed, or why there is no verdict.")


class StepReport(Frozen):
    """A step in short."""

    n: int = Field(description="Its number.")
    tool: str = Field(description="The tool that was called.")
    name: str = Field(description="What the recipe calls it.")
    cached: bool = Field(description="Whether an earlier result was used.")
    seconds: float = Field(description="How long it took.")
    ok: bool = Field(description="Whether the call did what was asked.")
    evaluation: Evaluation | None = Field(description="Null while it is pending.")


class RunReport(Frozen):
    """A run in short. `workspace` is absolute; every other path is relative to it."""

    run_id: RunId = Field(description="The run.")
    objective: str = Field(description="The question it answers.")
    recipe: str = Field(description="The recipe; empty for a run by hand.")
    state: str = Field(description="open, done, failed or cancelled.")
    seconds: float = Field(description="How long it took from its opening to its end, or so far to its last step.")
    workspace: str = Field(description="The absolute path of its tmp/.")
    cel: str = Field(description="Its Context Engineering Log.")
    steps: tuple[StepReport, ...] = Field(description="Its steps in order.")
    artifacts: tuple[Artifact, ...] = Field(description="Its files as the record has them.")
    deliverables: tuple[str, ...] = Field(
        description="The files made for people: the recipe's, else those in artifacts/."
    )


def run_report(folder: Path, state: RunState) -> RunReport:
    artifacts = tuple(state.files[path].artifact for path in sorted(state.files))
    return RunReport(
        run_id=state.opened.run_id,
        objective=state.opened.objective,
        recipe=state.opened.recipe,
        state=state.name,
        seconds=_seconds(state),
        workspace=str(folder / TMP),
        cel=CEL,
        steps=tuple(_step(step) for step in state.steps.values()),
        artifacts=artifacts,
        deliverables=_deliverables(state),
    )


def _seconds(state: RunState) -> float:
    ends = state.closed_at or max((step.at for step in state.steps.values()), default=state.opened_at)
    return (datetime.fromisoformat(ends) - datetime.fromisoformat(state.opened_at)).total_seconds()


def _deliverables(state: RunState) -> tuple[str, ...]:
    """What is there of what was promised, in the recipe's order."""
    wanted = state.opened.deliverables or sorted(path for path in state.files if path.startswith(DELIVERABLES))
    return tuple(path for path in wanted if path in state.files)


def last_attempts(report: RunReport) -> RunReport:
    """The same with only the last attempt of each named step."""
    last = {step.name or str(step.n): step.n for step in report.steps}
    return report.model_copy(update={"steps": tuple(step for step in report.steps if step.n in last.values())})


def _step(step: Step) -> StepReport:
    done = step.done
    return StepReport(
        n=done.step,
        tool=done.tool,
        name=done.name,
        cached=done.cached,
        seconds=done.seconds,
        ok=done.ok,
        evaluation=_evaluation(step.evaluation) if step.evaluation else None,
    )


def _evaluation(evaluation: StepEvaluated) -> Evaluation:
    return Evaluation.model_validate(evaluation.model_dump(exclude={"kind", "step"}))
