"""The tool sandbox.exec: a cell in the run's session, with its files told apart from what was there."""

from collections.abc import Iterable

from pydantic import JsonValue

from run_record import RunState
from run_record.changes import Sighting, changes
from sandbox import Cell, CellResult
from three_tools.cell_output import CellOutput, show
from three_tools.contracts import Display, FileOut, ImageDisplay, SandboxExecArgs, SandboxExecResult, TableDisplay
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
    report.inputs = _salient(args)
    if args.language != "python":
        raise CallRefused("invalid_args", f"the sandbox does not run {args.language!r}", "it runs python only")
    bench.record.require_open()
    for file in args.files_in:
        with bench.record.workspace.open(file.path) as source:
            bench.record.workspace.write(file.name, source)
    before = bench.record.state.next_step
    result = bench.run_cell(Cell(code=args.code, timeout_s=args.timeout_s), report)
    _give_evidence(report, result)
    report.did = [_ran(args, report, result)]  # that much is true, whatever becomes of its files
    shown = show(result, bench.record.workspace)
    seen = report.seen = bench.record.look()
    own = _own_files(result, shown, seen, bench.record.state, before)
    report.did += filter(None, (_left(seen, bench.record.state, own), _shown_in_words(result, shown)))
    return SandboxExecResult(
        ok=result.ok,
        stdout=shown.stdout,
        stderr=f"{_noticed(report)}{shown.stderr}{_ending(result)}",
        display=shown.display,
        files_out=_files_out(own, seen, bench.record.state),
    )


def _salient(args: SandboxExecArgs) -> dict[str, JsonValue]:
    lines = args.code.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    given: dict[str, JsonValue] = {"code": first if len(first) <= _LONGEST_WORD else f"{first[:_LONGEST_WORD]}…"}
    if len(lines) > 1:
        given["lines"] = len(lines)
    if args.files_in:
        given["files_in"] = [f"{file.path} as {file.name}" for file in args.files_in[:10]]
    if args.timeout_s is not None:
        given["timeout_s"] = args.timeout_s
    return given


def _give_evidence(report: Report, result: CellResult) -> None:
    """What the Evaluator judges by, and what the caller should know."""
    report.cause, report.detail = result.cause or "", result.detail
    report.touched, report.outputs = result.touched, result.outputs
    report.stderr = result.text("stderr")
    if result.error is not None:
        report.stderr += f"{result.error.ename}: {result.error.evalue}"
    report.killed_processes = result.killed_processes
    if _STATES[result.state]:
        report.notices.append(_STATES[result.state])


def _own_files(result: CellResult, shown: CellOutput, seen: Sighting, state: RunState, before: int) -> frozenset[str]:
    """The paths that the cell touched, and those made of its output; what is as another recorded it is that one's."""
    touched = {*result.touched.created, *result.touched.changed, *result.touched.deleted, *shown.saved}
    return frozenset(path for path in touched if path in seen.changed or state.touched.get(path, 0) < before)


def _ran(args: SandboxExecArgs, report: Report, result: CellResult) -> str:
    lines = count(len(args.code.splitlines()), "line")
    parts = [f"ran {lines} of Python in {seconds(result.seconds)}"]
    if not result.ok:
        parts.append(f"it did not end well: {result.detail[:300]}")
    return "; ".join([*parts, *(notice.partition(";")[0] for notice in report.notices)])


def _left(seen: Sighting, state: RunState, own: frozenset[str]) -> str:
    """The cell's own files, and apart from them what somebody else has changed since the step before."""
    found = changes(seen, state)
    files = [
        (artifact.path in own, f"{artifact.path} ({count(artifact.size, 'byte')})") for artifact in found.artifacts
    ]
    made, others = ([file for is_own, file in files if is_own is wanted] for wanted in (True, False))
    gone, others_gone = ([path for path in found.removed if (path in own) is wanted] for wanted in (True, False))
    said = (
        f"left {count(len(made), 'new or changed file')}: {names(made)}" if made else "",
        f"removed {names(gone)}" if gone else "",
        f"found {count(len(others), 'file')} that it did not write: {names(others)}" if others else "",
        f"found removed before it: {names(others_gone)}" if others_gone else "",
    )
    return "; ".join(filter(None, said))


def _shown_in_words(result: CellResult, shown: CellOutput) -> str:
    displays = sum("data" in output for output in result.outputs)
    said = [_display_in_words(shown.display, displays)] if shown.display else []
    printed = result.text("stdout").splitlines()
    if result.stdout.truncated:
        said.append(f"printed {result.stdout.total:,} bytes, of which {result.stdout.captured:,} were kept")
    elif printed:
        said.append(f"printed {count(len(printed), 'line')}, the last: {printed[-1][:_LONGEST_WORD]}")
    return "; ".join(said)


def _display_in_words(display: Display, displays: int) -> str:
    match display:
        case TableDisplay(total_rows=rows, total_columns=columns):
            one = f"a table of {count(rows, 'row')} and {count(columns, 'column')}"
        case ImageDisplay(path=path):
            one = f"a picture, {path}"
        case _:
            one = "a value"
    return f"showed {one}" if displays == 1 else f"showed {displays} displays, among them {one}"


def _noticed(report: Report) -> str:
    """What whoever reads only the answer has to know as well."""
    return "".join(f"note: {notice}\n" for notice in report.notices)


def _ending(result: CellResult) -> str:
    """How a cell ended that had no say in it: stopped, killed, out of memory."""
    is_its_own_error = result.cause == "error" and result.error is not None
    return "" if result.ok or is_its_own_error else f"cell stopped: {result.detail}\n"


def _files_out(own: frozenset[str], seen: Sighting, state: RunState) -> tuple[FileOut, ...]:
    found: list[FileOut] = []
    for path in sorted(own & seen.present):
        recorded = state.files.get(path)
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
