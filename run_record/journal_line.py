"""One fact as one line: JSON that carries its number, the hash of the line before, and its own."""

import hashlib
import re
from dataclasses import dataclass

from pydantic import Field, ValidationError

from run_record.artifact import Frozen
from run_record.errors import DamagedRecord, NewerFormat
from run_record.facts import Fact

FORMAT = 1
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
    format: int
    n: int = Field(ge=1)
    at: str
    fact: Fact
    prev: str


def encode(fact: Fact, n: int, at: str, prev: str) -> tuple[bytes, Entry]:
    """The line for a fact. Its hash covers every byte before it, and so the hash of the line before."""
    body = _Body(format=FORMAT, n=n, at=at, fact=fact, prev=prev).model_dump_json().encode()[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return b'%s,"hash":"%s"}\n' % (body, digest.encode()), Entry(n, at, fact, digest)


def decode(line: bytes, n: int, prev: str) -> Entry:
    """The fact in a line that must be number `n` after a line with hash `prev`."""
    if not line:
        raise DamagedRecord(f"journal record {n} is missing although it was acknowledged", HOW_TO_MEND)
    tail = _TAIL.fullmatch(line, max(0, len(line) - _TAIL_LENGTH))
    body = line[:-_TAIL_LENGTH]
    if tail is None or hashlib.sha256(body).hexdigest() != tail[1].decode():
        _refuse_newer(line)
        raise DamagedRecord(f"journal record {n} is damaged: its bytes do not have the hash it carries", HOW_TO_MEND)
    _refuse_newer(line)
    try:
        found = _Body.model_validate_json(body + b"}")
    except ValidationError as error:
        raise DamagedRecord(
            f"journal record {n} is whole but not understood: {error.errors()[0]['msg']}", HOW_TO_MEND
        ) from None
    if found.n != n or found.prev != prev:
        raise DamagedRecord(
            f"journal record {n} does not follow the one before: a record was taken out or moved", HOW_TO_MEND
        )
    return Entry(n, found.at, found.fact, tail[1].decode())


HOW_TO_MEND = "restore the run's folder from a backup; `partner cel` still shows CEL.md as it was last written"


def _refuse_newer(line: bytes) -> None:
    match = re.match(rb'\{"format":(\d+)', line)
    if match and int(match[1]) > FORMAT:
        raise NewerFormat(
            f"this run was written in format {int(match[1])}, and this program knows up to {FORMAT}",
            "use the newer version of partner that wrote it",
        )
