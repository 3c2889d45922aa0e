"""partner exec, search, tools: the three tools by hand."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pydantic import BaseModel

from partner.cli.cell_screen import CellScreen
from partner.cli.desk import Desk, Flags, desk, plain
from partner.cli.failure import FAILED, INTERRUPTED, STOPPING
from partner.cli.screen import count, print_json, print_table, say, size
from partner.equipment import equipment
from partner.errors import Refused, UsageError
from run_record.home import Question
from run_record.ids import RunId
from run_record.plain_text import printable
from three_tools.after_call import Recorded
from three_tools.contracts import BrowserSearchResult, SandboxExecResult
from three_tools.contracts.sandbox_exec import LONGEST_CODE
from three_tools.policy import PERSON, PROFILES, Context
from three_tools.registry import Registry
from three_tools.run import Run, join_run, open_run, standard_registry

_SNIPPET = 300
_REMEDIES = {
    "timeout": "raise --timeout-s, or make the work smaller",
    "oom": "work on less at a time; or raise PARTNER_CELL_MEMORY_MB and begin a session with it: partner exec --fresh",
    "limit": "`partner config` shows the limits; a session keeps those it began with (partner exec --fresh begins one)",
    "interrupted": "what it did so far is recorded, and its files are kept; go on with the next cell",
}


@contextmanager
def joined(here: Desk, name: str, *, as_runner: str = "") -> Generator[Run]:
    """The run that is meant, for a call or two from the command line."""
    run_id = here.home.find(name)
    caller = Context(PERSON, user_id=here.settings.author, run_id=run_id)
    with join_run(here.home, equipment(here.settings, say, here.command), run_id, caller, as_runner=as_runner) as run:
        yield run


def called(run: Run, tool: str, arguments: dict[str, object] | BaseModel) -> Recorded:
    """Call a tool; a refusal becomes an error that says what to do."""
    recorded = run.call(tool, arguments)
    if refusal := recorded.outcome.refusal:
        raise Refused(refusal.code, refusal.problem, refusal.remedy)
    return recorded


def exec_cell(flags: Flags, name: str, arguments: dict[str, object], *, is_fresh: bool, as_json: bool) -> None:
    screen = CellScreen()
    with joined(desk(flags), name, as_runner="partner exec") as run, _stopped_by_signals(run):
        if is_fresh:
            run.session.close()
        if as_json:
            recorded = called(run, "sandbox.exec", arguments)
        else:
            run.on_output = screen.take
            with screen:
                recorded = called(run, "sandbox.exec", arguments)
    result = recorded.outcome.result
    if not isinstance(result, SandboxExecResult):
        raise TypeError(f"sandbox.exec gave a {type(result).__name__}")
    if as_json:
        step = recorded.step.step if recorded.step else None
        print_json({**result.model_dump(mode="json"), "cause": recorded.outcome.report.cause or None, "step": step})
    else:
        _show_ending(recorded, result)
    if screen.failure is not None:
        raise screen.failure
    if not result.ok:
        sys.exit(INTERRUPTED if recorded.outcome.report.cause == "interrupted" else FAILED)


def source(code: str | None, file: Path | None) -> str:
    """The cell that is meant."""
    if (code is None) == (file is None):
        raise UsageError("a cell comes from --code or from --file", "give one of them; --file - reads stdin")
    if code is not None:
        return plain(code, "code")
    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else open(str(file), "rb") as stream:
            content = stream.read(LONGEST_CODE + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(
            f"the cell cannot be read from {printable(str(file))}: {why}", "name a file of Python"
        ) from None
    if len(content) > LONGEST_CODE:
        raise UsageError(f"{file} is longer than a cell may be ({size(LONGEST_CODE)})", "split it, or import a file")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8: {error}", "save it as UTF-8") from None


@contextmanager
def _stopped_by_signals(run: Run) -> Generator[None]:
    """A signal interrupts the cell, not this program: what it did is recorded. No sandbox's start is waited for."""

    def stop(_number: int, _frame: object) -> None:
        if run.session.is_starting:
            raise KeyboardInterrupt
        run.cancel()

    before = {number: signal.signal(number, stop) for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_ending(recorded: Recorded, result: SandboxExecResult) -> None:
    report = recorded.outcome.report
    for notice in report.notices:
        say(f"note: {printable(notice)}")
    if not result.ok and report.cause != "error":
        say(f"cell stopped: {printable(report.detail)}")
        if remedy := _REMEDIES.get(report.cause):
            say(f"  → {remedy}")
    for file in result.files_out:
        say(f"  {printable(file.path)}  {file.size:,} B  sha256 {file.sha256[:12]}")
    show_verdict(recorded)


def show_verdict(recorded: Recorded) -> None:
    """What the Evaluator says, when it is not simply well."""
    judged, step = recorded.evaluation, recorded.step
    if judged is None or step is None:
        return
    score = f" {judged.aggregate:.2f}" if judged.aggregate is not None else ""
    critique = f": {printable(judged.critique)}" if judged.verdict != "PASS" and judged.critique else ""
    say(f"step {step.step}  {judged.verdict}{score}{critique}")


def search(flags: Flags, query: str, name: str | None, options: dict[str, object], *, as_json: bool) -> None:
    here = desk(flags)
    arguments: dict[str, object] = {"query": plain(query, "query"), **options}
    if name is not None:
        with joined(here, name) as run:
            recorded = called(run, "browser.search", arguments)
    else:
        question = Question(objective=f"Search: {query}", by=here.settings.author)
        with open_run(here.home, equipment(here.settings, say, here.command), question, who="partner search") as run:
            recorded = called(run, "browser.search", arguments)
    _show_results(recorded, run.run_id, as_json=as_json)


def _show_results(recorded: Recorded, run_id: RunId, *, as_json: bool) -> None:
    result = recorded.outcome.result
    if not isinstance(result, BrowserSearchResult):
        raise TypeError(f"browser.search gave a {type(result).__name__}")
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for number, hit in enumerate(result.results, 1):
        dated = f"  {hit.published_at[:10]}" if hit.published_at else ""
        same = f"  (nearly the same as {printable(hit.duplicate_of)})" if hit.duplicate_of else ""
        print(f"{number}. {printable(hit.title) or 'untitled'}{dated}\n   {printable(hit.url)}{same}")
        if hit.snippet:
            print(f"   {printable(hit.snippet[:_SNIPPET])}")
    for line in recorded.outcome.report.did:
        say(printable(line))
    say(f"run {run_id}, citations/{result.citations_id}.json")
    if recorded.evaluation and recorded.evaluation.verdict != "PASS":
        show_verdict(recorded)


def list_tools(flags: Flags, profile: str, *, as_json: bool) -> None:
    desk(flags)
    if profile not in PROFILES:
        raise UsageError(f"there is no profile '{printable(profile)}'", f"there is: {', '.join(PROFILES)}")
    chosen = PROFILES[profile]
    registry = Registry(standard_registry().list_tools(), lambda _context: chosen)
    context = Context(PERSON)
    visible = {tool.name for tool in registry.list_tools_for(context)}
    executable = {tool.name for tool in registry.executable_for(context)}
    rows = [
        {
            "name": tool.name,
            "visible": tool.name in visible,
            "executable": tool.name in executable,
            "description": tool.description,
        }
        for tool in registry.list_tools()
    ]
    if as_json:
        print_json({"profile": profile, "tools": rows})
        return
    print_table(
        [
            ("name", "visible", "executable", "description"),
            *((str(r["name"]), _yes(r["visible"]), _yes(r["executable"]), str(r["description"])) for r in rows),
        ]
    )
    later = sorted((chosen.allowlist or frozenset()) - {tool.name for tool in registry.list_tools()})
    if later:
        say(f"{count(len(later), 'more tool')} on its allowlist come with an agent: {', '.join(later)}")


def _yes(value: object) -> str:
    return "✓" if value else "–"
