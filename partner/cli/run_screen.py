"""A run on a terminal: a line for each step when it ends, and until then what is at work and for how long."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

from partner.cli.screen import Progress, beside, duration, fitted, mark, say, width
from recipes.recipe import Recipe
from run_record.plain_text import printable
from tasks.step import Step
from three_tools.after_call import Recorded
from three_tools.evaluator.rubric import DID_WHAT_WAS_ASKED
from three_tools.run import Run

_TICK_S = 0.2
_NAME, _TEXT, _TOOK, _VERDICT = 24, 46, 8, 9
_LEAST_TEXT = 12


class RunScreen:
    """Follows a run for a person, and tells whoever waits for it the run's id as soon as it has one."""

    def __init__(self, *, quiet: bool = False, announce: int | None = None) -> None:
        self.run_id = ""
        self.seconds = 0.0
        self._began_s = 0.0
        self.flow_run_id = ""
        self._is_quiet = quiet
        self._announce = announce
        self._progress = Progress()
        self._lock = threading.Lock()
        self._at_work: dict[str, float] = {}
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._tell_time, name="run screen", daemon=True)

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.seconds = time.monotonic() - self._began_s
        self._is_over.set()
        self._watch.join()
        self._progress.clear()

    def opened(self, run: Run, recipe: Recipe) -> None:
        from prefect.runtime import flow_run

        self.run_id, self.flow_run_id = run.run_id, str(flow_run.id or "")
        if self._announce is not None:
            with open(self._announce, "w") as waiting:
                print(run.run_id, file=waiting)
        if self._is_quiet:
            return
        objective = printable(run.record.state.opened.objective)
        head = f"{recipe.name}   run {run.run_id}"
        say(f"\n{beside(head, f'objective: {objective}', width())}")

    def began(self, step: Step) -> None:
        with self._lock:
            self._at_work[step.name] = time.monotonic()

    def ended(self, step: Step, recorded: Recorded) -> None:
        with self._lock:
            self._at_work.pop(step.name, None)
            if not self._is_quiet:
                self._progress.clear()
                say(_line(step, recorded))

    def _tell_time(self) -> None:
        while not self._is_over.wait(_TICK_S):
            with self._lock:
                if self._at_work and not self._is_quiet:
                    name, began = min(self._at_work.items(), key=lambda item: item[1])
                    self._progress.show(f"  {name}, {duration(time.monotonic() - began)}")


def _line(step: Step, recorded: Recorded) -> str:
    outcome, judged = recorded.outcome, recorded.evaluation
    took = "cached" if recorded.step and recorded.step.cached else duration(outcome.seconds)
    score = f" {judged.aggregate:.2f}" if judged and judged.aggregate is not None else ""
    verdict = f"{judged.verdict}{score}" if judged else "PENDING"
    room = max(_LEAST_TEXT, min(_TEXT, width() - 2 - _NAME - 1 - 3 - _TOOK - 1 - _VERDICT))
    name, text = fitted(step.name, _NAME), fitted(printable(_said(recorded)), room)
    symbol = mark("✓" if outcome.ok else "✗", sys.stderr)
    return f"  {name:{_NAME}} {text:{room}} {symbol} {took:{_TOOK}} {verdict}"


def _said(recorded: Recorded) -> str:
    """What came of it: why it failed, else what the Evaluator saw in its files, else what the tool says it did."""
    outcome, judged = recorded.outcome, recorded.evaluation
    if outcome.refusal:
        return outcome.refusal.problem
    if not outcome.ok:
        return outcome.report.detail
    seen = judged.critique if judged else ""
    return next(iter(outcome.report.did), "") if seen in ("", DID_WHAT_WAS_ASKED) else seen
