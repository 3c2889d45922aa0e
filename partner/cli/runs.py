"""partner open, runs, show, cel, note, close"""

import sys
from dataclasses import asdict, dataclass

from partner.cli.desk import Flags, desk, plain, view
from partner.cli.screen import beside, count, duration, fitted, mark, print_json, print_table, say, size, width
from partner.cli.tools import joined
from partner.errors import UsageError
from partner.run_report import run_report
from run_record.artifact_index import artifact_index
from run_record.cel import cel_text, entries_as_of
from run_record.clock import to_the_second
from run_record.errors import RunRecordError
from run_record.facts import EndState
from run_record.home import Home, Question
from run_record.ids import RunId
from run_record.plain_text import printable
from run_record.state import RunState

_OBJECTIVE, _TITLE = 100, 50
_BEFORE_OBJECTIVE, _AROUND_TITLE = 58, 45
"""What else stands on these lines."""
_LEAST = 12


def open_run(flags: Flags, objective: str, *, as_json: bool) -> None:
    here = desk(flags)
    record = here.home.create_run(Question(objective=plain(objective, "objective"), by=here.settings.author))
    if as_json:
        print_json({"run_id": record.state.opened.run_id})
    else:
        print(record.state.opened.run_id)
        say(f"its files: {record.workspace.root}")


@dataclass(frozen=True, slots=True)
class _Row:
    run_id: RunId
    state: str
    steps: int
    opened_at: str
    recipe: str
    objective: str


def list_runs(flags: Flags, *, as_json: bool) -> None:
    home = desk(flags).home
    rows = sorted((_row(home, run_id) for run_id in home.run_ids()), key=lambda row: row.opened_at, reverse=True)
    if as_json:
        print_json({"runs": [asdict(row) for row in rows]})
        return
    room = max(_LEAST, min(_OBJECTIVE, width(sys.stdout) - _BEFORE_OBJECTIVE))
    print_table(
        (r.run_id, r.state, count(r.steps, "step"), _minute(r.opened_at), fitted(r.objective, room)) for r in rows
    )
    if not rows:
        say(f"there is no run in {home.root} yet\n  → partner open --objective TEXT")


def _row(home: Home, run_id: RunId) -> _Row:
    try:
        state = view(home, run_id).state
    except RunRecordError as error:
        return _Row(run_id, "damaged", 0, "", "", error.problem)
    return _Row(run_id, state.name, len(state.steps), state.opened_at, state.opened.recipe, state.opened.objective)


def show(flags: Flags, name: str, *, as_json: bool) -> None:
    here = desk(flags)
    run = view(here.home, name)
    report = run_report(run.folder, run.state)
    if as_json:
        print_json(report.model_dump())
        return
    objective = printable(report.objective) or "not given"
    head = f"{printable(report.recipe) or 'by hand'}   run {report.run_id}   {report.state}"
    print(beside(head, f"objective: {objective}", width(sys.stdout)))
    opened = f"opened {_minute(run.state.opened_at)} UTC by {printable(run.state.opened.by)}"
    print(f"{opened}, {count(len(run.state.notes), 'note')}")
    _show_steps(run.state)
    _show_files(run.state)
    say(f"\nIts files         {report.workspace}\nHow it was made   {here.command} cel {report.run_id}")


def _show_steps(state: RunState) -> None:
    if state.steps:
        print()
    for step in state.steps.values():
        done, judged = step.done, step.evaluation
        verdict = judged.verdict if judged else "PENDING"
        score = f" {judged.aggregate:.2f}" if judged and judged.aggregate is not None else ""
        took = "cached" if done.cached else duration(done.seconds)
        room = max(_LEAST, min(_TITLE, width(sys.stdout) - _AROUND_TITLE))
        title = fitted(printable(done.name or next(iter(done.did), "")), room)
        tick = mark("✓" if done.ok else "✗")
        print(f"{done.step:5}  {printable(done.tool):14} {title:{room}} {tick} {took:10} {verdict}{score}")


def _show_files(state: RunState) -> None:
    files = artifact_index(state).files
    if files:
        print()
    print_table(
        [(f.path, size(f.size), f.kind, f"step {f.step}", f.sha256[:12]) for f in files], indent="  ", numbers=[1]
    )


def show_cel(flags: Flags, name: str, at: int | None, *, only_code: bool, as_json: bool) -> None:
    run = view(desk(flags).home, name)
    if only_code:
        _show_code(run.state, as_json=as_json)
        return
    entries = run.reading.entries if at is None else entries_as_of(run.reading.entries, at)
    text = cel_text(entries)
    if as_json:
        print_json({"run_id": run.run_id, "cel": text})
    else:
        sys.stdout.write(text)


def _show_code(state: RunState, *, as_json: bool) -> None:
    """The cells that ended well, in order and in percent format: piped into `partner exec`, they replay the run."""
    cells = _cells(state)
    if as_json:
        print_json({"cells": [{"step": number, "code": code} for number, code in cells]})
    else:
        sys.stdout.write(_program(cells))


def _cells(state: RunState) -> list[tuple[int, str]]:
    """By step. A cell that is all those before it is their replay, and says nothing new."""
    cells: list[tuple[int, str]] = []
    so_far = ""
    for step in state.steps.values():
        if step.done.source and step.done.ok and step.done.source != so_far:
            cells.append((step.done.step, step.done.source))
            so_far += _program(cells[-1:])
    return cells


def _program(cells: list[tuple[int, str]]) -> str:
    ended = ((number, code if code.endswith("\n") else f"{code}\n") for number, code in cells)
    return "".join(f"# %% step {number}\n{code}" for number, code in ended)


def add_note(flags: Flags, name: str, text: str, *, as_json: bool) -> None:
    here = desk(flags)
    run_id = here.home.find(name)
    given = sys.stdin.buffer.read().decode(errors="surrogateescape") if text == "-" else text
    said = plain(given, "note").strip()
    if not said:
        raise UsageError("the note is empty", "give its text, or '-' to read it from stdin")
    here.home.open_run(run_id).note(here.settings.author, said)
    if as_json:
        print_json({"run_id": run_id, "by": here.settings.author, "text": said})
    else:
        say(f"noted in {run_id}")


def close_run(flags: Flags, name: str, state: EndState, reason: str, *, as_json: bool) -> None:
    plain(reason, "reason")
    with joined(desk(flags), name, as_runner="partner close") as run:
        run.end(state, reason)
    record = run.record
    if as_json:
        print_json(run_report(record.folder, record.state).model_dump())
    else:
        say(f"closed {record.state.opened.run_id}: {state}")


def completions(flags: Flags, incomplete: str) -> list[str]:
    """Run ids for the shell's Tab key."""
    ids = list(desk(flags).home.run_ids())
    return sorted(name for name in [*ids, "latest"] if name.startswith(incomplete))


def _minute(at: str) -> str:
    return to_the_second(at)[:16].replace("T", " ") if at else "unknown"
