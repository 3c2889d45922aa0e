"""How a run of a recipe ended: what it delivers, where to begin reading, and what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from partner.cli.desk import Desk
from partner.cli.screen import count, duration, print_json, print_table, say, size
from partner.run_report import RunReport, last_attempts, run_report
from recipes.recipe import Recipe
from run_record.ids import RunId
from run_record.journal import read_journal
from run_record.plain_text import printable
from run_record.state import RunState


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, well or not."""

    recipe: Recipe
    run_id: RunId
    error: BaseException | None
    page: str
    """Where the Prefect UI shows it."""
    seconds: float


def state_of(here: Desk, run_id: RunId) -> RunState:
    return RunState(read_journal(here.home.folder(run_id)).entries)


def show_end(here: Desk, ended: Ended, *, as_json: bool) -> None:
    report = _report(here, ended)
    if as_json:
        failed: Mapping[str, Any] = {} if ended.error is None else {"error": _as_object(ended.error)}  # Any: JSON
        print_json({**report.model_dump(mode="json"), **failed})
        return
    say(f"\n{_in_short(report, ended.seconds)}")
    made = {each.path: each for each in report.artifacts}
    if report.deliverables:
        say("")
        delivered = [made[path] for path in report.deliverables]
        rows = [
            (f"{report.workspace}/{each.path}", size(each.size), f"sha256 {each.sha256[:12]}") for each in delivered
        ]
        print_table(rows, numbers=[1])
        say(f"\nOpen first        {rows[0][0]}")
    say(f"How it was made   {here.command} cel {ended.run_id}\nIn Prefect        {ended.page}")
    if ended.error is not None:
        say(f"\nerror: {ended.error}")


def _report(here: Desk, ended: Ended) -> RunReport:
    """The last attempt of each step, what recipe.toml declares as deliverables, and the time that was waited."""
    report = last_attempts(run_report(here.home.folder(ended.run_id), state_of(here, ended.run_id)))
    made = {each.path for each in report.artifacts}
    delivered = tuple(path for path in ended.recipe.deliverables if path in made)
    return report.model_copy(update={"deliverables": delivered, "seconds": round(ended.seconds, 3)})


def _in_short(report: RunReport, seconds: float) -> str:
    """done: 12 steps in 2.1 s, 9 of them cached, lowest score 0.97"""
    cached = sum(step.cached for step in report.steps)
    scores = [step.evaluation.aggregate for step in report.steps if step.evaluation]
    known = [score for score in scores if score is not None]
    lowest = f", lowest score {min(known):.2f}" if known else ""
    taken = f", {cached} of them cached" if cached else ""
    return f"{report.state}: {count(len(report.steps), 'step')} in {duration(seconds)}{taken}{lowest}"


def _as_object(error: BaseException) -> dict[str, str]:
    problem, remedy = getattr(error, "problem", str(error)), getattr(error, "remedy", "")
    return {"kind": type(error).__name__, "problem": printable(problem), "remedy": printable(remedy)}
