"""The tool sandbox.exec: a cell in the run's session, with its files told apart from what was there."""

from collections.abc import Iterable

from pydantic import JsonValue

from run_record import RunRecord
from run_record.changes import Changes, Sighting, changes
from sandbox import Cell, CellResult
from three_tools.cell_output import CellOutput, show
from three_tools.contracts import FileOut, SandboxExecArgs, SandboxExecResult, TableDisplay
from three_tools.errors import CallRefused
from three_tools.tool import Report, Tool, ToolCall, Touch, bench_of
from three_tools.words import count, names, seconds

_LONGEST_WORD = 100
_STATES = {
    "kept": "",
    "restored": "variables are as they were before this cell",
    "lost": "the session's variables are lost",
}


def run_cell(call: ToolCall, args: SandboxExecArgs) -> SandboxExecResult:
    bench, report = bench_of(call), call.report
    report.source = args.code
    report.inputs = {"lines": len(args.code.splitlines()), **_salient(args)}
    if args.language != "python":
        raise CallRefused("invalid_args", f"the sandbox does not run {args.language!r}", "it runs python only")
    bench.record.require_open()
    for file in args.files_in:
        with bench.record.workspace.open(file.path) as source:
            bench.record.workspace.write(file.name, source)
    result = bench.run_cell(Cell(code=args.code, timeout_s=args.timeout_s), report)
    shown = show(result, bench.record.workspace)
    seen = report.seen = bench.record.look()
    report.did = [_ran(args, result), _left(changes(seen, bench.record.state)), _shown_in_words(shown)]
    report.did = [sentence for sentence in report.did if sentence]
    _give_evidence(report, result)
    return SandboxExecResult(
        ok=result.ok,
        stdout=shown.stdout,
        stderr=f"{shown.stderr}{_ending(result)}",
        display=shown.display,
        files_out=_files_out(result, shown, seen, bench.record),
    )


def _salient(args: SandboxExecArgs) -> dict[str, JsonValue]:
    given: dict[str, JsonValue] = {}
    if args.files_in:
        given["files_in"] = [f"{file.path} as {file.name}" for file in args.files_in[:10]]
    if args.timeout_s is not None:
        given["timeout_s"] = args.timeout_s
    return given


def _ran(args: SandboxExecArgs, result: CellResult) -> str:
    lines = count(len(args.code.splitlines()), "line")
    ending = "" if result.ok else f"; it did not end well: {result.detail[:300]}"
    return f"ran {lines} of Python in {seconds(result.seconds)}{ending}"


def _left(found: Changes) -> str:
    files = [f"{artifact.path} ({artifact.size:,} bytes)" for artifact in found.artifacts]
    made = f"left {count(len(files), 'new or changed file')}: {names(files)}" if files else ""
    gone = f"removed {names(found.removed)}" if found.removed else ""
    return "; ".join(filter(None, (made, gone)))


def _give_evidence(report: Report, result: CellResult) -> None:
    """What the Evaluator judges by, and what the caller should know."""
    report.cause, report.detail = result.cause or "", result.detail
    report.stderr = result.text("stderr")
    if result.error is not None:
        report.stderr += f"{result.error.ename}: {result.error.evalue}"
    report.killed_processes = result.killed_processes
    if _STATES[result.state]:
        report.notices.append(_STATES[result.state])


def _shown_in_words(shown: CellOutput) -> str:
    if isinstance(shown.display, TableDisplay):
        columns = count(shown.display.total_columns, "column")
        return f"showed a table of {count(shown.display.total_rows, 'row')} and {columns}"
    printed = shown.stdout.strip().splitlines()
    return f"printed {count(len(printed), 'line')}, the last: {printed[-1][:_LONGEST_WORD]}" if printed else ""


def _ending(result: CellResult) -> str:
    """How a cell ended that had no say in it: stopped, killed, out of memory."""
    is_its_own_error = result.cause == "error" and result.error is not None
    return "" if result.ok or is_its_own_error else f"cell stopped: {result.detail}\n"


def _files_out(result: CellResult, shown: CellOutput, seen: Sighting, record: RunRecord) -> tuple[FileOut, ...]:
    """What the cell touched, and what was made of its output; an upload meanwhile is not its own."""
    touched = {*result.touched.created, *result.touched.changed, *shown.saved}
    found: list[FileOut] = []
    for path in sorted(touched & seen.present):
        recorded = record.state.files.get(path)
        artifact = seen.changed.get(path) or (recorded.artifact if recorded else None)
        if artifact is not None:
            found.append(FileOut(path=path, size=artifact.size, sha256=artifact.sha256))
    return tuple(found)


def _touches(args: SandboxExecArgs) -> Iterable[Touch]:
    for file in args.files_in:
        yield Touch("tmp", file.path)
        yield Touch("tmp", file.name)


def _is_ok(result: SandboxExecResult) -> bool:
    return result.ok


SANDBOX_EXEC = Tool(
    name="sandbox.exec",
    description="Run a Python cell in this run's sandbox; variables and files persist from cell to cell.",
    arguments=SandboxExecArgs,
    result=SandboxExecResult,
    handler=run_cell,
    effects=frozenset({"read", "write"}),
    touches=_touches,
    is_ok=_is_ok,
)
