"""partner files ls|read|write|rm. On an open run each call is a step of its record; a closed one is only read."""

import sys
from io import BufferedReader
from typing import cast

import typer

from partner.cli.desk import Flags, desk, plain
from partner.cli.screen import Progress, print_json, print_table, say, size
from partner.cli.tools import called, joined, show_verdict
from partner.errors import UsageError
from run_record.plain_text import printable
from three_tools.contracts import TmpListResult, TmpWriteResult
from three_tools.contracts.tmp_files import LONGEST_TEXT
from three_tools.tmp_files import StreamedRead, StreamedWrite


def list_files(flags: Flags, name: str, prefix: str, *, as_json: bool) -> None:
    plain(prefix, "prefix")
    with joined(desk(flags), name) as run:
        result = called(run, "tmp.list", {"prefix": prefix}).outcome.result
    found = result.files if isinstance(result, TmpListResult) else ()
    if as_json:
        print_json({"files": [file.model_dump() for file in found]})
        return
    print_table([(size(file.size), file.modified_at[:16].replace("T", " "), file.path) for file in found], numbers=[0])
    if not found:
        say(f"no file begins with '{printable(prefix)}'" if prefix else "the run has no files yet")


def read_file(flags: Flags, name: str, path: str, *, as_json: bool) -> None:
    _named(path)
    with joined(desk(flags), name) as run:
        if as_json:
            with run.workspace.open(path) as file:
                size_bytes = file.seek(0, 2)
            if size_bytes > LONGEST_TEXT:
                problem = f"{printable(path)} is {size(size_bytes)}, too much for --json"
                raise UsageError(problem, "read it without --json")
            print_json(called(run, "tmp.read", {"path": path}).outcome.as_json())
        else:
            called(run, "tmp.read", StreamedRead(path=path, sink=sys.stdout.buffer))
            sys.stdout.buffer.flush()


def write_file(flags: Flags, name: str, path: str, *, as_json: bool) -> None:
    _named(path)
    with joined(desk(flags), name) as run:
        run.record.require_open()
        if sys.stdin.isatty():
            say("reading from the terminal; end with Ctrl-D on an empty line")
        source = _Stdin()
        recorded = called(run, "tmp.write", StreamedWrite(path=path, stream=source))
        source.progress.clear()
    written = recorded.outcome.result
    if as_json or not isinstance(written, TmpWriteResult):
        print_json(recorded.outcome.as_json())
    else:
        say(f"{printable(written.path)}  {size(written.size)}  sha256 {written.sha256}")
        if recorded.evaluation and recorded.evaluation.verdict == "FAIL":
            show_verdict(recorded)


def delete_file(flags: Flags, name: str, path: str, *, is_sure: bool, as_json: bool) -> None:
    _named(path)
    with joined(desk(flags), name) as run:
        run.record.require_open()
        if sys.stdin.isatty() and not is_sure:
            typer.confirm(f"delete {printable(path)} from run {run.run_id}?", abort=True, err=True)
        recorded = called(run, "tmp.delete", {"path": path})
    if as_json:
        print_json(recorded.outcome.as_json())
    else:
        for line in recorded.outcome.report.did:
            say(printable(line))


def _named(path: str) -> None:
    if not plain(path, "path"):
        raise UsageError("the path is empty", "name a file, relative to the run's tmp/")


class _Stdin:
    """Standard input, piece by piece as it comes: waiting for a whole chunk would miss a Ctrl-C between two pieces."""

    def __init__(self) -> None:
        self.progress = Progress()
        self._read_bytes = 0

    def read(self, size_bytes: int, /) -> bytes:
        piece = cast(BufferedReader, sys.stdin.buffer).read1(size_bytes)
        self._read_bytes += len(piece)
        self.progress.show(f"read {size(self._read_bytes)}")
        return piece
