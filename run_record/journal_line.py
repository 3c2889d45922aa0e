"""One fact as one line: JSON that carries its number, the hash of the line before, and its own."""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, ValidationError

from run_record.artifact import Frozen
from run_record.errors import CallerError, DamagedRecord, NewerFormat
from run_record.facts import Fact

FORMAT: Literal[1] = 1
NO_HASH = "0" * 64
_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n')
_TAIL_LENGTH = len(f',"hash":"{NO_HASH}"}}\n')


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact as it stands in the journal."""

    n: int
    at: str
    fact: Fact
    hash: str


class _Body(Frozen):
    format: Literal[1]
    n: int = Field(ge=1)
    at: str
    fact: Fact
    prev: str


def encode(fact: Fact, n: int, at: str, prev: str) -> tuple[bytes, Entry]:
    """The line for a fact. Its hash covers every byte before it, and so the hash of the line before.

    CallerError if it would not read back as the same fact: infinity, NaN and very deep nesting do not survive JSON.
    """
    try:
        body = _Body(format=FORMAT, n=n, at=at, fact=fact, prev=prev).model_dump_json().encode()[:-1]
        line = b'%s,"hash":"%s"}\n' % (body, hashlib.sha256(body).hexdigest().encode())
        entry = decode(line, n, prev)
    except (ValueError, RecursionError, NewerFormat):
        raise _not_recordable(fact) from None
    if entry.fact != fact:
        raise _not_recordable(fact)
    return line, entry


def _not_recordable(fact: Fact) -> CallerError:
    problem = f"this {fact.kind} cannot be recorded: JSON cannot hold it"
    return CallerError(problem, "leave out NaN, infinity, huge numbers and deep nesting")


def decode(line: bytes, n: int, prev: str) -> Entry:
    """The fact in a line that must be number `n` after a line with hash `prev`."""
    if not line:
        raise DamagedRecord(f"journal record {n} is missing although it was acknowledged", HOW_TO_MEND)
    tail = _TAIL.fullmatch(line, max(0, len(line) - _TAIL_LENGTH))
    body = line[:-_TAIL_LENGTH]
    if tail is None or hashlib.sha256(body).hexdigest() != tail[1].decode():
        raise DamagedRecord(f"journal record {n} is damaged: its bytes do not have the hash it carries", HOW_TO_MEND)
    try:
        found = _Body.model_validate_json(body + b"}")
    except ValidationError as error:
        raise _not_understood(n, body, error) from None
    if found.n != n or found.prev != prev:
        raise DamagedRecord(f"journal record {n} does not follow the one before it in the chain", HOW_TO_MEND)
    return Entry(n, found.at, found.fact, tail[1].decode())


HOW_TO_MEND = "restore the run's folder from a backup; CEL.md in it is the log as it was last written"


def _not_understood(n: int, body: bytes, error: ValidationError) -> NewerFormat:
    """A line that is whole and that we cannot read was written by another version: damage would show in its hash."""
    match = re.match(rb'\{"format":(\d+)', body)
    what = f"in format {int(match[1])}" if match else f"at {error.errors()[0]['loc']}"
    return NewerFormat(
        f"journal record {n} is whole but not understood ({what}; this program knows format {FORMAT})",
        "use the newer version of partner that wrote it",
    )
