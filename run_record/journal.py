"""A run's truth: one hash-chained line per fact, durable before it is acknowledged."""

import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from run_record.clock import Clock, timestamp
from run_record.durable import locked, replace_file, write_all
from run_record.errors import DamagedRecord, MachineRefused
from run_record.facts import Fact, NoteAdded
from run_record.head import Head, first_head, put_back_head, read_head, slots_of, write_head
from run_record.journal_line import HOW_TO_MEND, NO_HASH, Entry, decode, encode

JOURNAL = "journal.jsonl"
HEAD = "head"
THE_RECORD = "the record"  # who signs notes that nobody wrote


@dataclass(frozen=True, slots=True)
class Position:
    """How far a journal was read and found whole."""

    n: int = 0
    hash: str = NO_HASH
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A journal as it stands: what was acknowledged, and how much lies behind it that never was."""

    entries: Sequence[Entry]
    unacknowledged_bytes: int
    is_head_whole: bool


def create_journal(folder: Path, opened: Fact, at: str) -> None:
    """Start a journal in a folder that nobody else sees yet."""
    line, entry = encode(opened, 1, at, NO_HASH)
    replace_file(folder / JOURNAL, line)
    replace_file(folder / HEAD, first_head(entry.hash))


def read_journal(folder: Path) -> Reading:
    """Every acknowledged entry, verified. Changes nothing: damage and torn tails stay as they are."""
    with held_for_reading(folder) as reading:
        return reading


@contextmanager
def held_for_reading(folder: Path) -> Generator[Reading]:
    """The same while nobody can append, for comparing it with what is derived from it."""
    with _opened(folder, os.O_RDONLY) as (journal, head_file), locked(journal, shared=True):
        head, data = read_head(head_file), _rest(journal, Position())
        entries, position = _advance(data, Position(), head)
        yield Reading(entries, len(data) - position.offset, not head.is_doubtful)


class Journal:
    """One run's journal, to be appended to by this process and others.

    Remembers how far it has read, and gives itself out to one holder at a time. Who may run the run is
    the lease's business; what facts mean, RunState's.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._position = Position()
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Generator["HeldJournal"]:
        """The journal, locked; whatever others appended since it was last held is its `news`."""
        with self._threads, _opened(self._folder, os.O_RDWR) as (file, head_file), locked(file):
            head = read_head(head_file)
            news, position = _advance(_rest(file, self._position), self._position, head)
            held = HeldJournal(self._folder, self._clock, file, head_file, position, news)
            # If this fails, our position stays: what was read now will be news again to the next holder.
            held.repair(head)
            try:
                yield held
            finally:
                self._position = held.position

    def read_on(self) -> Sequence[Entry]:
        """What was appended since the last time, holding the lock only as long as the bytes take to read."""
        with self._threads:
            with _opened(self._folder, os.O_RDONLY) as (file, head_file), locked(file, shared=True):
                head, data = read_head(head_file), _rest(file, self._position)
            entries, self._position = _advance(data, self._position, head)
            return entries


@dataclass(slots=True)
class HeldJournal:
    """A journal while it is locked: takes facts, and clears away what a crash left.

    What was never acknowledged is set aside in `journal.torn-*` and noted; acknowledged bytes that are
    damaged were refused before it came to this.
    """

    folder: Path
    clock: Clock
    file: int
    head_file: int
    position: Position
    news: list[Entry]

    def append(self, fact: Fact) -> Entry:
        """Make a fact durable. When this returns it is acknowledged; when it raises it is not."""
        at = self.position
        line, entry = encode(fact, at.n + 1, timestamp(self.clock()), at.hash)
        slots = slots_of(self.head_file)
        try:
            os.lseek(self.file, at.offset, os.SEEK_SET)
            write_all(self.file, line)
            os.fdatasync(self.file)
            write_head(self.head_file, entry.n, entry.hash)
        except BaseException as error:
            self._undo(slots)
            if isinstance(error, OSError):
                raise MachineRefused.because(f"the journal in {self.folder} could not be written", error) from error
            raise
        self.position = Position(entry.n, entry.hash, at.offset + len(line))
        return entry

    def repair(self, head: Head) -> None:
        """Put right what a crash left, and note what it was."""
        torn_bytes = os.fstat(self.file).st_size - self.position.offset
        if torn_bytes:
            aside = self._set_aside(torn_bytes)
            text = f"recovered: {torn_bytes} bytes that were never acknowledged were set aside in {aside.name}"
        elif head.is_doubtful:
            self._rewrite_slot()  # this one now, the other with the note that follows
            text = "recovered: a damaged slot of the head was written again"
        else:
            return
        self.news.append(self.append(NoteAdded(by=THE_RECORD, text=text)))

    def _undo(self, slots: bytes) -> None:
        """Take back what was not acknowledged; where the disk refuses even that, the next holder will."""
        with suppress(OSError):
            # The head first: it must never promise a record that the journal no longer has.
            put_back_head(self.head_file, slots)
            os.ftruncate(self.file, self.position.offset)

    def _rewrite_slot(self) -> None:
        try:
            write_head(self.head_file, self.position.n, self.position.hash)
        except OSError as error:
            raise MachineRefused.because(f"the head in {self.folder} could not be mended", error) from error

    def _set_aside(self, torn_bytes: int) -> Path:
        number = self.position.n + 1
        taken = len(list(self.folder.glob(f"journal.torn-{number}*")))
        aside = self.folder / f"journal.torn-{number}{f'-{taken + 1}' if taken else ''}"
        try:
            replace_file(aside, os.pread(self.file, torn_bytes, self.position.offset))
            os.ftruncate(self.file, self.position.offset)
            os.fsync(self.file)
        except OSError as error:
            raise MachineRefused.because(f"the journal's torn end could not be set aside in {aside}", error) from error
        return aside


@contextmanager
def _opened(folder: Path, flags: int) -> Generator[tuple[int, int]]:
    journal = _open(folder / JOURNAL, flags)
    try:
        head_file = _open(folder / HEAD, flags)
        try:
            yield journal, head_file
        finally:
            os.close(head_file)
    finally:
        os.close(journal)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise DamagedRecord(f"{path} is missing", HOW_TO_MEND) from None
    except OSError as error:
        raise MachineRefused.because(f"{path} cannot be opened", error) from error


def _rest(journal: int, position: Position) -> bytes:
    """Everything behind a position."""
    size_bytes = os.fstat(journal).st_size - position.offset
    if size_bytes < 0:
        raise DamagedRecord(f"the journal was cut off before record {position.n}", HOW_TO_MEND)
    return os.pread(journal, size_bytes, position.offset)


def _advance(data: bytes, start: Position, head: Head) -> tuple[list[Entry], Position]:
    """Go on from a position to the last acknowledged record, verifying every line."""
    entries: list[Entry] = []
    position = start
    while position.n < head.n:
        entry, position = _next(data, start.offset, position)
        entries.append(entry)
    if (position.n, position.hash) != (head.n, head.hash):
        raise DamagedRecord(f"the journal does not lead to record {head.n}, which its head names", HOW_TO_MEND)
    if head.is_doubtful:
        # The unreadable slot named the record before this one, or one that follows: see whether one does.
        with suppress(DamagedRecord):
            entry, position = _next(data, start.offset, position)
            entries.append(entry)
    return entries, position


def _next(data: bytes, data_offset: int, at: Position) -> tuple[Entry, Position]:
    begin = at.offset - data_offset
    end = data.find(b"\n", begin) + 1 or len(data)
    entry = decode(data[begin:end], at.n + 1, at.hash)
    return entry, Position(entry.n, entry.hash, data_offset + end)
