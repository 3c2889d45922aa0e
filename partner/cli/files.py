"""partner files ls|read|write|rm. On an open run each call is a step of its record; a closed one is only read."""

import base64
import hashlib
import os
import shutil
import sys
import time
from io import BufferedReader
from typing import cast

import typer
from pydantic import JsonValue

from partner.cli.desk import Desk, Flags, desk, plain, view
from partner.cli.screen import Progress, count, print_json, print_table, say, size
from partner.errors import UsageError
from run_record.artifact import Artifact
from run_record.facts import StepEvaluated
from run_record.file_list import list_files as listed
from run_record.ids import RunId
from run_record.known_files import KnownFiles
from run_record.plain_text import printable
from run_record.record import KNOWN_FILES, Call, RunRecord, open_workspace

_LARGEST_JSON_BYTES = 100_000_000
_BY_HAND = "handled by hand from the command line: no expectations to judge it by"


def list_files(flags: Flags, name: str, prefix: str, *, as_json: bool) -> None:
    started = time.monotonic()
    here = desk(flags)
    plain(prefix, "prefix")
    run = view(here.home, name)
    found = listed(open_workspace(run.folder), KnownFiles.load(run.folder / KNOWN_FILES), prefix)
    if not run.state.closed:
        record = here.home.open_run(run.run_id)
        _record(record, [], _call("tmp.list", {"prefix": prefix}, f"listed {count(len(found), 'file')}", started))
    if as_json:
        print_json({"files": [file.model_dump() for file in found]})
        return
    print_table([(size(file.size), file.modified_at[:16].replace("T", " "), file.path) for file in found], numbers=[0])
    if not found:
        say(f"no file begins with '{printable(prefix)}'" if prefix else "the run has no files yet")


def read_file(flags: Flags, name: str, path: str, *, as_json: bool) -> None:
    started = time.monotonic()
    here = desk(flags)
    run = view(here.home, name)
    with open_workspace(run.folder).open(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if as_json and size_bytes > _LARGEST_JSON_BYTES:
            problem = f"{printable(path)} is {size(size_bytes)}, too much for --json"
            raise UsageError(problem, "read it without --json")
        if not run.state.closed:
            record = here.home.open_run(run.run_id)
            _record(record, [], _call("tmp.read", {"path": path}, f"read {size_bytes:,} bytes of {path}", started))
        if as_json:
            content = file.read()
            print_json({**_as_json(content), "size": len(content), "sha256": hashlib.sha256(content).hexdigest()})
        else:
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def write_file(flags: Flags, name: str, path: str, *, as_json: bool) -> None:
    started = time.monotonic()
    record = _open_run(desk(flags), name)
    if sys.stdin.isatty():
        say("reading from the terminal; end with Ctrl-D on an empty line")
    source = _Stdin()
    written = record.workspace.write(path, source)
    source.progress.clear()
    did = f"wrote {written.size:,} bytes to {path}"
    _record(record, [path], _call("tmp.write", {"path": path}, did, started))
    _show_written(written, as_json=as_json)


def delete_file(flags: Flags, name: str, path: str, *, is_sure: bool, as_json: bool) -> None:
    started = time.monotonic()
    record = _open_run(desk(flags), name)
    if sys.stdin.isatty() and not is_sure:
        typer.confirm(f"delete {printable(path)} from run {record.state.opened.run_id}?", abort=True, err=True)
    seen = record.look([path])  # whatever it holds is in the object store now
    recorded = record.state.files.get(path)
    kept = seen.changed.get(path) or (recorded.artifact if recorded and path in seen.present else None)
    record.workspace.delete(path)
    held = f", which held {kept.size:,} bytes with sha256 {kept.sha256}" if kept else ""
    _record(record, [path], _call("tmp.delete", {"path": path}, f"deleted {path}{held}", started))
    if as_json:
        print_json({"ok": True})
    else:
        say(f"deleted {printable(path)}" + (f"; its bytes stay in objects/ as {kept.sha256}" if kept else ""))


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


def _open_run(here: Desk, name: str) -> RunRecord:
    """The run's record, before anything is done to its files: a closed run takes nothing."""
    run_id: RunId = here.home.find(name)
    record = here.home.open_run(run_id)
    record.require_open()
    return record


def _call(tool: str, inputs: dict[str, JsonValue], did: str, started: float) -> Call:
    return Call(tool=tool, inputs=inputs, did=(did,), seconds=time.monotonic() - started)


def _record(record: RunRecord, paths: list[str], call: Call) -> None:
    """Record a call and the paths it touched; what a cell may be writing meanwhile is the cell's to record."""
    step = record.record_step(call, record.look(paths))
    record.record_evaluation(StepEvaluated(step=step.step, verdict="NOT EVALUATED", critique=_BY_HAND))


def _show_written(written: Artifact, *, as_json: bool) -> None:
    if as_json:
        print_json(written.model_dump())
    else:
        say(f"{printable(written.path)}  {size(written.size)}  sha256 {written.sha256}")


def _as_json(content: bytes) -> dict[str, str]:
    try:
        if b"\0" not in content:
            return {"text": content.decode()}
    except UnicodeDecodeError:
        pass
    return {"bytes_b64": base64.b64encode(content).decode()}
