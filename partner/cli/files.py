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

from partner.cli.desk import Desk, Flags, desk, view
from partner.cli.screen import count, print_json, print_table, say, size
from run_record.artifact import Artifact
from run_record.facts import StepEvaluated
from run_record.file_list import list_files as listed
from run_record.ids import RunId
from run_record.known_files import KnownFiles
from run_record.plain_text import printable
from run_record.record import KNOWN_FILES, Call, RunRecord, open_workspace

_NOT_EVALUATED = "handled by hand from the command line: no expectations to judge it by"


def list_files(flags: Flags, name: str, prefix: str, *, as_json: bool) -> None:
    started = time.monotonic()
    here = desk(flags)
    run = view(here.home, name)
    found = listed(open_workspace(run.folder), KnownFiles.load(run.folder / KNOWN_FILES), prefix)
    if not run.state.closed:
        record = here.home.open_run(run.run_id)
        _record(record, "tmp.list", {"prefix": prefix}, f"listed {count(len(found), 'file')}", started)
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
        if not run.state.closed:
            record = here.home.open_run(run.run_id)
            _record(record, "tmp.read", {"path": path}, f"read {size_bytes:,} bytes of {path}", started)
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
    written = record.workspace.write(path, _Stdin())
    _record(record, "tmp.write", {"path": path}, f"wrote {written.size:,} bytes to {path}", started)
    _show_written(written, as_json=as_json)


def delete_file(flags: Flags, name: str, path: str, *, is_sure: bool, as_json: bool) -> None:
    started = time.monotonic()
    record = _open_run(desk(flags), name)
    if sys.stdin.isatty() and not is_sure:
        typer.confirm(f"delete {printable(path)} from run {record.state.opened.run_id}?", abort=True, err=True)
    record.workspace.delete(path)
    _record(record, "tmp.delete", {"path": path}, f"deleted {path}", started)
    if as_json:
        print_json({"ok": True})
    else:
        say(f"deleted {printable(path)}; its bytes stay in objects/")


class _Stdin:
    """Standard input, piece by piece as it comes: waiting for a whole chunk would miss a Ctrl-C between two pieces."""

    def read(self, size: int, /) -> bytes:
        return cast(BufferedReader, sys.stdin.buffer).read1(size)


def _open_run(here: Desk, name: str) -> RunRecord:
    """The run's record, before anything is done to its files: a closed run takes nothing."""
    run_id: RunId = here.home.find(name)
    record = here.home.open_run(run_id)
    record.require_open()
    return record


def _record(record: RunRecord, tool: str, inputs: dict[str, JsonValue], did: str, started: float) -> None:
    step = record.record_step(Call(tool=tool, inputs=inputs, did=(did,), seconds=time.monotonic() - started))
    record.record_evaluation(StepEvaluated(step=step.step, verdict="NOT EVALUATED", critique=_NOT_EVALUATED))


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
