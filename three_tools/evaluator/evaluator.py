"""Judges a step: what is known of the call, what a cell of its own finds in its files, and the rubric over both."""

from collections.abc import Callable
from typing import Final

from pydantic import TypeAdapter, ValidationError

from run_record import ObjectStore, RunRecordError, StepEvaluated
from sandbox import Backend, CellResult, Limits, SandboxError
from three_tools.evaluator.call_facts import call_findings
from three_tools.evaluator.finding import Finding
from three_tools.evaluator.judged_step import JudgedStep
from three_tools.evaluator.request import make_request
from three_tools.evaluator.rubric import judge
from three_tools.evaluator.step_checks import MARKER

LIMITS: Final = Limits(timeout_s=60.0, output_bytes=8 << 20)
"""What a judgement may cost."""
_FINDINGS: Final = TypeAdapter(list[Finding])
_REASON_CHARACTERS: Final = 300


class Evaluator:
    """Judges steps by hashed objects, in a fork that no cell of the run can touch.

    What keeps it from judging is a verdict too: NOT EVALUATED, with the reason. It does not raise for the sandbox,
    for an object that is missing or damaged, or for a cell that says nothing sensible.
    """

    def __init__(
        self,
        backend: Backend | Callable[[], Backend],
        objects: ObjectStore,
        pass_threshold: float = 0.8,
        limits: Limits | None = None,
    ) -> None:
        self._backend = backend
        self._objects = objects
        self._pass_threshold = pass_threshold
        self._limits = limits or LIMITS

    def evaluate(self, step: JudgedStep, number: int) -> StepEvaluated:
        """The judgement of a step, for the record."""
        try:
            findings = [*call_findings(step), *self._look(step)]
        except _NoAnswer as error:
            return _not_evaluated(number, str(error))
        except (SandboxError, RunRecordError) as error:
            return _not_evaluated(number, error.problem)
        except Exception as error:  # whatever it is, the step keeps its place, with the reason, and is judged again
            return _not_evaluated(number, f"the Evaluator crashed: {type(error).__name__}: {error}")
        judgement = judge(findings, self._pass_threshold)
        return StepEvaluated(
            step=number,
            verdict=judgement.verdict,
            completeness=judgement.completeness,
            correctness=judgement.correctness,
            evidence=judgement.evidence,
            hygiene=judgement.hygiene,
            aggregate=judgement.aggregate,
            critique=judgement.critique,
        )

    def _look(self, step: JudgedStep) -> list[Finding]:
        """What a cell of its own finds in the step's files. It runs for a step without files too."""
        request = make_request(step, self._objects)
        backend = self._backend() if callable(self._backend) else self._backend
        result = backend.check(request.code, request.files, self._limits)
        return [*request.left_out, *_read(result)]


class _NoAnswer(Exception):
    """The cell did not say what it found."""


def _read(result: CellResult) -> list[Finding]:
    if not result.ok:
        raise _NoAnswer(f"the check did not end well: {result.detail}")
    line = result.text("stdout").rstrip("\n").rpartition("\n")[2]
    if not line.startswith(MARKER):
        raise _NoAnswer("the check said nothing that can be read")
    try:
        findings = _FINDINGS.validate_json(line.removeprefix(MARKER))
    except ValidationError as error:
        raise _NoAnswer(f"the check said nothing that can be read ({error.error_count()} errors)") from error
    if not all(0 <= finding.score <= 1 for finding in findings):
        raise _NoAnswer("the check gave a score that is none")
    return findings


def _not_evaluated(number: int, reason: str) -> StepEvaluated:
    return StepEvaluated(step=number, verdict="NOT EVALUATED", critique=" ".join(reason.split())[:_REASON_CHARACTERS])
