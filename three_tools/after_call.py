"""What happens after every tool call: artifacts, objects, Step Block, evaluation; for failures and refusals too."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from run_record import Artifact, Call, RunRecord, RunState, StepDone, StepEvaluated
from run_record.errors import RunIsClosed
from three_tools.browser_search import CITATIONS
from three_tools.evaluator import Evaluator, Expectations, JudgedStep
from three_tools.outcome import Outcome, Refusal
from three_tools.tool import Report

_STDERR_CHARACTERS = 4000
_LONGEST_DID = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a recipe, or whoever calls, says about a call besides its arguments."""

    name: str = ""
    """What the step is called; a later attempt of the same name replaces it."""
    attempt: int = 0
    """Which try of that step it is, where its beginning was recorded."""
    cached: bool = False
    """Whether an earlier result was used instead of running it."""
    next_steps: tuple[str, ...] = ()
    expects: Expectations = field(default_factory=Expectations)
    needs: tuple[str, ...] = ()
    """Steps that must have passed before, or files that must be there."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call with its place in the record, which it does not have in a run that is closed."""

    outcome: Outcome
    step: StepDone | None = None
    evaluation: StepEvaluated | None = None


def record_call(record: RunRecord, outcome: Outcome, ask: Ask) -> StepDone | None:
    """Record a call that has ended, with every file that came of it; a closed run is read without leaving a trace."""
    report = outcome.report
    anywhere = report.has_begun and report.paths is None
    try:
        seen = report.seen or record.look(None if anywhere else report.paths or ())
        return record.record_step(_call(outcome, ask), seen)
    except RunIsClosed:
        return None


def judge_step(record: RunRecord, evaluator: Evaluator, done: StepDone) -> StepEvaluated:
    """Have a recorded step judged, from the record alone: now, or after a crash."""
    evaluation = evaluator.evaluate(_judged(record, done), done.step)
    earlier = record.state.step(done.step).evaluation
    if evaluation != earlier:
        record.record_evaluation(evaluation)
    return evaluation


def _call(outcome: Outcome, ask: Ask) -> Call:
    report, refusal = outcome.report, outcome.refusal
    did = [*report.did[:2], _why(refusal, report)] if refusal else report.did[:3]
    return Call(
        tool=outcome.tool,
        name=ask.name,
        attempt=ask.attempt,
        cached=ask.cached,
        inputs=report.inputs,
        did=tuple(line[:_LONGEST_DID] for line in did),
        ok=outcome.ok,
        seconds=outcome.seconds,
        next_steps=ask.next_steps,
        source=report.source,
        code=refusal.code if refusal else "",
        cause=report.cause,
        detail=refusal.problem if refusal else report.detail,
        stderr=report.stderr[-_STDERR_CHARACTERS:],
        killed_processes=report.killed_processes,
        results=report.results,
        citations=report.citations,
        expects=ask.expects.model_dump(mode="json", exclude_defaults=True),
    )


def _why(refusal: Refusal, report: Report) -> str:
    if refusal.code not in ("timeout", "cancelled", "failed"):
        verb = "refused"
    else:
        verb = "broken off" if report.did else "not done"
    return f"{verb} ({refusal.code}): {refusal.problem}"


def _judged(record: RunRecord, done: StepDone) -> JudgedStep:
    return JudgedStep(
        tool=done.tool,
        ok=done.ok,
        expects=_expectations(done.expects),
        code=done.code,
        cause=done.cause,
        detail=done.detail,
        stderr=done.stderr,
        seconds=done.seconds,
        artifacts=done.artifacts,
        files=_files(record.state, done.step),
        results=done.results,
        citations=(done.citations.path,) if done.citations else (),
        has_searched=bool(record.state.citations),
        killed_processes=done.killed_processes,
        skipped=done.skipped,
    )


def _files(state: RunState, number: int) -> dict[str, Artifact]:
    """The run's files after a step; of what lies among the citations, only what is as a search wrote it is evidence."""
    return {
        path: file.artifact
        for path, file in state.files_after(number).items()
        if not path.startswith(f"{CITATIONS}/") or file.artifact in state.citations
    }


def _expectations(recorded: dict[str, Any]) -> Expectations:  # Any: JSON, as the journal has it
    try:
        return Expectations.model_validate(recorded)
    except ValidationError:  # written by another version of this program: the step is judged by its files alone
        return Expectations()
