"""partner sandbox: try cells by hand, see the host and its walls, end it."""

import codeop
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from partner import sandboxes
from partner.cli.cell_screen import show_output
from partner.cli.desk import Flags
from partner.cli.failure import FAILED
from partner.cli.screen import count, duration, mark, print_json, print_table, say, size
from partner.errors import UsageError
from partner.settings import load_settings
from run_record.plain_text import printable
from sandbox import Cell, CellResult, HostStatus, Session, SessionSpec

_STATES = {
    "kept": "",
    "restored": "variables are as they were before this cell",
    "lost": "the session's variables are lost",
}
_REMEDIES = {
    "timeout": "raise --timeout-s, or make the work smaller",
    "oom": "work on less at a time, or raise PARTNER_CELL_MEMORY_MB",
    "limit": "`partner config` shows the limits",
}


def shell(flags: Flags, folder: Path | None, code: str | None, timeout_s: float | None, *, as_json: bool) -> None:
    """Run cells from the command line, from a pipe or from the keyboard, in one session."""
    if as_json and code is None:
        raise UsageError("--json prints one result, so it needs one cell", "give it with --code")
    settings = load_settings(flags)
    jail = sandboxes.jail(settings, say)
    work = folder.resolve() if folder else Path(tempfile.mkdtemp(prefix="partner-shell-"))
    if folder is None:
        work.chmod(0o711)  # cells run as a user of their own, and must get to it
    cells = [code] if code is not None else typed() if sys.stdin.isatty() else [sys.stdin.read()]
    try:
        session = jail.open_session(
            SessionSpec(name=f"shell-{work.name.lower()[-40:]}", work=str(work), limits=sandboxes.limits(settings))
        )
        try:
            ended_well = [_run(session, Cell(code=cell, timeout_s=timeout_s), as_json=as_json) for cell in cells]
        finally:
            session.close()
    finally:
        if folder is None:
            shutil.rmtree(work, ignore_errors=True)
    if not sys.stdin.isatty() or code is not None:
        sys.exit(0 if all(ended_well) else FAILED)


def status(flags: Flags, *, as_json: bool) -> None:
    jail = sandboxes.jail(load_settings(flags))
    host = jail.status()
    if as_json:
        print_json({"up": host is not None, **(host.model_dump(mode="json") if host else {})})
    elif host is None:
        print("no sandbox host is up; the next cell starts one")
    else:
        print(f"host       pid {host.pid}, up {duration(host.up_s)}, Python {host.python}")
        for wall, means in host.walls.items():
            print(f"{mark('✓')} {wall:10} {means}")
        print(f"{mark('✓')} {'resources':10} memory by {memory_by(host)}; the rest by rlimits and the host's watchdog")
        print(f"sessions   {count(len(host.sessions), 'session')}")
        print_table(
            [
                (
                    info.name,
                    "busy" if info.is_busy else f"idle {duration(info.idle_s)}",
                    count(info.cells, "cell"),
                    info.work,
                )
                for info in host.sessions
            ],
            indent="  ",
        )


def stop(flags: Flags, *, as_json: bool) -> None:
    jail = sandboxes.jail(load_settings(flags))
    was_up = jail.status() is not None
    closed = jail.stop()
    if as_json:
        print_json({"was_up": was_up, "closed": closed})
    else:
        say(f"stopped; {count(closed, 'session')} closed" if was_up else "no sandbox host was up")


def memory_by(host: HostStatus) -> str:
    """Who keeps a session to its memory."""
    return f"cgroup v{host.cgroup_version}" if host.memory_by == "cgroup" else "watchdog, as no cgroup can be made here"


def typed() -> Iterator[str]:
    """Cells from the keyboard: a cell ends where Python would run it; an empty line ends one that goes on."""
    say("cells run in the sandbox; an empty line runs a longer one, Ctrl-D ends")
    lines: list[str] = []
    while True:
        try:
            line = input("...: " if lines else "In: ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        lines.append(line)
        if _is_whole(lines):
            if cell := "\n".join(lines).strip("\n"):
                yield cell
            lines = []


def _is_whole(lines: list[str]) -> bool:
    if not lines[-1].strip():
        return True
    if len(lines) > 1:
        return False
    try:
        return codeop.compile_command(lines[0]) is not None
    except (SyntaxError, ValueError, OverflowError):
        return True  # a magic, or an error that the cell itself will say


def _run(session: Session, cell: Cell, *, as_json: bool) -> bool:
    """Run a cell and show it; whether it ended well. Ctrl-C interrupts the cell, not this program."""
    if as_json:
        result = session.run(cell)
        print_json(result.model_dump(mode="json"))
        return result.ok
    result = _with_ctrl_c(session, cell)
    _show_ending(result)
    return result.ok


def _with_ctrl_c(session: Session, cell: Cell) -> CellResult:
    import signal

    before = signal.signal(signal.SIGINT, lambda _number, _frame: session.interrupt() and None)
    try:
        return session.run(cell, show_output)
    finally:
        signal.signal(signal.SIGINT, before)


def _show_ending(result: CellResult) -> None:
    touched = result.touched
    for verb, paths in (("created", touched.created), ("changed", touched.changed), ("deleted", touched.deleted)):
        if paths:
            say(f"  {verb} {', '.join(map(printable, paths[:8]))}{' …' if len(paths) > 8 else ''}")
    for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
        if stream.truncated:
            say(f"  {name}: {size(stream.captured)} shown of {size(stream.total)}")
    if result.ok or (result.cause == "error" and result.state == "kept"):
        return
    say(f"cell stopped: {printable(result.detail)}")
    if _STATES[result.state]:
        say(f"  {_STATES[result.state]}")
    if result.cause in _REMEDIES:
        say(f"  → {_REMEDIES[result.cause]}")
