"""partner exec, search, tools: the three tools by hand."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from partner.cli.cell_screen import show_output
from partner.cli.desk import Desk, Flags, desk, plain
from partner.cli.failure import FAILED, INTERRUPTED
from partner.cli.screen import count, mark, print_json, print_table, say
from partner.equipment import equipment
from partner.errors import Refused, UsageError
from run_record.home import Question
from run_record.ids import RunId
from run_record.plain_text import printable
from three_tools.after_call import Recorded
from three_tools.contracts import BrowserSearchResult, SandboxExecResult
from three_tools.policy import PERSON, PROFILES, Context
from three_tools.registry import Registry
from three_tools.run import Run, join_run, open_run, standard_registry

_SNIPPET = 300
_REMEDIES = {
    "timeout": "raise --timeout-s, or make the work smaller",
    "oom": "work on less at a time, or raise PARTNER_CELL_MEMORY_MB",
    "limit": "`partner config` shows the limits",
}


@contextmanager
def joined(here: Desk, name: str, *, as_runner: str = "") -> Generator[Run]:
    """The run that is meant, for a call or two from the command line."""
    run_id = here.home.find(name)
    caller = Context(PERSON, user_id=here.settings.author, run_id=run_id)
    with join_run(here.home, equipment(here.settings, say), run_id, caller, as_runner=as_runner) as run:
        yield run


def called(run: Run, tool: str, arguments: dict[str, object] | BaseModel) -> Recorded:
    """Call a tool; a refusal becomes an error that says what to do."""
    recorded = run.call(tool, arguments)
    if refusal := recorded.outcome.refusal:
        raise Refused(refusal.code, refusal.problem, refusal.remedy)
    return recorded


def exec_cell(flags: Flags, name: str, code: str, timeout_s: float | None, *, as_json: bool) -> None:
    arguments: dict[str, object] = {"code": code}
    if timeout_s is not None:
        arguments["timeout_s"] = timeout_s
    with joined(desk(flags), name, as_runner="partner exec") as run, _ctrl_c(run):
        run.on_output = None if as_json else show_output
        recorded = called(run, "sandbox.exec", arguments)
    result = recorded.outcome.result
    if not isinstance(result, SandboxExecResult):
        raise TypeError(f"sandbox.exec gave a {type(result).__name__}")
    for notice in recorded.outcome.report.notices:
        say(f"note: {notice}")
    if as_json:
        step = recorded.step.step if recorded.step else None
        print_json({**result.model_dump(mode="json"), "cause": recorded.outcome.report.cause or None, "step": step})
    else:
        _show_ending(recorded, result)
    if not result.ok:
        sys.exit(INTERRUPTED if recorded.outcome.report.cause == "interrupted" else FAILED)


def source(code: str | None, file: Path | None) -> str:
    """The cell that is meant."""
    if (code is None) == (file is None):
        raise UsageError("a cell comes from --code or from --file", "give one of them; --file - reads stdin")
    if code is not None:
        return plain(code, "code")
    content = sys.stdin.buffer.read() if str(file) == "-" else Path(str(file)).read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8: {error}", "save it as UTF-8") from None


@contextmanager
def _ctrl_c(run: Run) -> Generator[None]:
    """Ctrl-C interrupts the cell, not this program: what it did is recorded."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: run.cancel())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _show_ending(recorded: Recorded, result: SandboxExecResult) -> None:
    report = recorded.outcome.report
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
        with open_run(here.home, equipment(here.settings, say), question, who="partner search") as run:
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
    return mark("✓") if value else "–"
