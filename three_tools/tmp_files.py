"""The tools tmp.write, tmp.read, tmp.list and tmp.delete: a run's files."""

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from pydantic import Field, SkipValidation

from run_record.file_list import list_files
from run_record.hashed_copy import Stream
from run_record.known_files import KnownFiles
from run_record.plain_text import printable
from run_record.record import KNOWN_FILES
from three_tools.contracts import (
    TmpDeleteArgs,
    TmpDeleteResult,
    TmpListArgs,
    TmpListedFile,
    TmpListResult,
    TmpReadArgs,
    TmpReadResult,
    TmpWriteArgs,
    TmpWriteResult,
)
from three_tools.contracts.tmp_files import LONGEST_TEXT
from three_tools.errors import CallRefused
from three_tools.tool import Tool, ToolCall, Touch, bench_of
from three_tools.words import count

_PIECE_BYTES = 1 << 20


class StreamedWrite(TmpWriteArgs):
    """A tmp.write by a door on this machine, which hands over an open stream of any length instead of the content."""

    text: str | None = ""
    stream: SkipValidation[Any] = Field(exclude=True)  # Any: a Stream, which pydantic cannot check


class StreamedRead(TmpReadArgs):
    """A tmp.read by a door on this machine, which takes the bytes from a stream instead of the result."""

    sink: SkipValidation[Any] = Field(exclude=True)  # Any: a BinaryIO, likewise


def write_file(call: ToolCall, args: TmpWriteArgs) -> TmpWriteResult:
    record = bench_of(call).record
    _about(call, args.path)
    record.require_open()
    written = record.workspace.write(args.path, _content(args))
    call.report.did.append(f"wrote {written.size:,} bytes to {args.path}")
    return TmpWriteResult(path=written.path, size=written.size, sha256=written.sha256)


def read_file(call: ToolCall, args: TmpReadArgs) -> TmpReadResult:
    call.report.inputs, call.report.paths = {"path": args.path}, frozenset()
    with bench_of(call).record.workspace.open(args.path) as file:
        size = os.fstat(file.fileno()).st_size
        if isinstance(args, StreamedRead):
            content, digest, size = None, *_copy(file, args.sink)
        elif size > LONGEST_TEXT:
            problem = f"{printable(args.path)} has {size:,} bytes; {LONGEST_TEXT:,} is the most that one answer holds"
            raise CallRefused("invalid_args", problem, "read it in a cell, or with `partner files read`")
        elif len(content := file.read(LONGEST_TEXT + 1)) > LONGEST_TEXT:  # it is being written to
            raise CallRefused("conflict", f"{printable(args.path)} grew while it was read", "read it again")
        else:
            digest, size = hashlib.sha256(content).hexdigest(), len(content)
    call.report.did.append(f"read {size:,} bytes of {args.path}")
    return TmpReadResult(**({} if content is None else as_text_or_base64(content)), size=size, sha256=digest)


def list_all(call: ToolCall, args: TmpListArgs) -> TmpListResult:
    record = bench_of(call).record
    call.report.inputs, call.report.paths = {"prefix": args.prefix}, frozenset()
    found = list_files(record.workspace, KnownFiles.load(record.folder / KNOWN_FILES), args.prefix)
    total = sum(file.size for file in found)
    call.report.did.append(f"listed {count(len(found), 'file')} of {total:,} bytes together")
    return TmpListResult(files=tuple(TmpListedFile(**file.model_dump()) for file in found))


def delete_file(call: ToolCall, args: TmpDeleteArgs) -> TmpDeleteResult:
    record = bench_of(call).record
    _about(call, args.path)
    record.require_open()
    seen = record.look([args.path])  # whatever it holds is in the object store now
    recorded = record.state.files.get(args.path)
    kept = seen.changed.get(args.path) or (recorded.artifact if recorded and args.path in seen.present else None)
    record.workspace.delete(args.path)
    held = f", which held {kept.size:,} bytes with sha256 {kept.sha256}" if kept else ""
    call.report.did.append(f"deleted {args.path}{held}")
    return TmpDeleteResult(ok=True)


def as_text_or_base64(content: bytes) -> dict[str, str]:
    """Text when it is UTF-8 without NUL."""
    try:
        if b"\0" not in content:
            return {"text": content.decode()}
    except UnicodeDecodeError:
        pass
    return {"bytes_b64": base64.b64encode(content).decode()}


def _about(call: ToolCall, path: str) -> None:
    call.report.inputs = {"path": path}
    call.report.paths = frozenset({path})


def _content(args: TmpWriteArgs) -> bytes | Stream:
    if isinstance(args, StreamedWrite):
        return args.stream
    if args.bytes_b64 is None:
        return (args.text or "").encode()
    try:
        return base64.b64decode(args.bytes_b64, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CallRefused("invalid_args", f"bytes_b64 is not base64: {error}", "encode the bytes anew") from None


def _copy(file: BinaryIO, sink: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
        size += len(piece)
        sink.write(piece)
    return digest.hexdigest(), size


def _touches_path(args: TmpWriteArgs | TmpReadArgs | TmpDeleteArgs) -> Iterable[Touch]:
    return (Touch("tmp", args.path),)


def _touches_prefix(args: TmpListArgs) -> Iterable[Touch]:
    return (Touch("tmp", args.prefix, is_prefix=True),)


TMP_FILES = (
    Tool(
        name="tmp.write",
        description="Write a file of this run, whole, from text or base64.",
        arguments=TmpWriteArgs,
        result=TmpWriteResult,
        handler=write_file,
        effects=frozenset({"write"}),
        is_idempotent=True,
        touches=_touches_path,
    ),
    Tool(
        name="tmp.read",
        description="Read a file of this run, as text where it is text, else as base64.",
        arguments=TmpReadArgs,
        result=TmpReadResult,
        handler=read_file,
        is_idempotent=True,
        touches=_touches_path,
    ),
    Tool(
        name="tmp.list",
        description="List this run's files with their sizes and hashes.",
        arguments=TmpListArgs,
        result=TmpListResult,
        handler=list_all,
        is_idempotent=True,
        touches=_touches_prefix,
    ),
    Tool(
        name="tmp.delete",
        description="Delete a file of this run; the record keeps what it held.",
        arguments=TmpDeleteArgs,
        result=TmpDeleteResult,
        handler=delete_file,
        effects=frozenset({"write"}),
        touches=_touches_path,
    ),
)
