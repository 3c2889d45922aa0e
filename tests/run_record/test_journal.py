"""The journal: what was acknowledged is what is read, and nothing else."""

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from fakes.disk import FailingDisk
from fakes.forger import forge
from run_record import Journal, NoteAdded, RunId, RunOpened, StepDone, read_journal
from run_record.clock import timestamp
from run_record.errors import CallerError, DamagedRecord, MachineRefused, NewerFormat, RunRecordError
from run_record.facts import Fact
from run_record.head import read_head
from run_record.journal import THE_RECORD, create_journal
from run_record.journal_line import decode, encode

OPENED = RunOpened(run_id=RunId("0000-0000-0000-0000"), as_of="2026-11-18", by="anna")


@pytest.fixture
def folder(tmp_path: Path, clock: FakeClock) -> Path:
    """A journal of one record."""
    create_journal(tmp_path, OPENED, timestamp(clock()))
    return tmp_path


def append(folder: Path, *texts: str) -> None:
    journal = Journal(folder, FakeClock())
    for text in texts:
        with journal.held() as held:
            held.append(NoteAdded(by="anna", text=text))


def texts(folder: Path) -> list[str]:
    return [entry.fact.text for entry in read_journal(folder).entries if isinstance(entry.fact, NoteAdded)]


def test_facts_come_back_in_order(folder: Path) -> None:
    """Facts are read back as they were appended, numbered from 1."""
    append(folder, "one", "two\nlines", 'ünï\u2028códe \\ " \x1b[31m')
    assert texts(folder) == ["one", "two\nlines", 'ünï\u2028códe \\ " \x1b[31m']
    assert [entry.n for entry in read_journal(folder).entries] == [1, 2, 3, 4]


def test_each_line_is_json_and_carries_the_hash_before_it(folder: Path) -> None:
    """Every line is one JSON object; its prev is the hash of the line before."""
    append(folder, "one", "two")
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert [line["prev"] for line in lines] == ["0" * 64, lines[0]["hash"], lines[1]["hash"]]
    assert all(line["format"] == 1 for line in lines)


def test_two_writers_take_turns(folder: Path, clock: FakeClock) -> None:
    """Each writer is given what the other appended since, and numbers go on without a gap."""
    first, second = Journal(folder, clock), Journal(folder, clock)
    for journal, text in ((first, "a"), (second, "b"), (first, "c"), (second, "d")):
        with journal.held() as held:
            held.append(NoteAdded(by="x", text=f"{text} after {len(held.news)}"))
    assert texts(folder) == ["a after 1", "b after 2", "c after 1", "d after 1"]


def write_and_keep_heads(folder: Path, *notes: str) -> list[bytes]:
    """The head file as it was after each record: index n is the state in which n records were acknowledged."""
    heads = [b"", (folder / "head").read_bytes()]
    for text in notes:
        append(folder, text)
        heads.append((folder / "head").read_bytes())
    return heads


def test_a_journal_cut_at_any_byte_recovers_what_was_acknowledged(folder: Path) -> None:
    """Cut while a record is being written, at any of its bytes: all records before it are there, and it is not."""
    heads = write_and_keep_heads(folder, "one", "two", "three")
    whole = (folder / "journal.jsonl").read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(ends[0], len(whole)):
        acknowledged = sum(end <= cut for end in ends)
        (folder / "journal.jsonl").write_bytes(whole[:cut])
        (folder / "head").write_bytes(heads[acknowledged])
        for torn in folder.glob("journal.torn-*"):
            torn.unlink()
        assert len(read_journal(folder).entries) == acknowledged
        with Journal(folder, FakeClock()).held() as held:
            entries = held.news
        tail = whole[ends[acknowledged - 1] : cut]
        recovered = [entry for entry in entries if not is_recovery_note(entry.fact)]
        assert [entry.n for entry in recovered] == list(range(1, acknowledged + 1)), cut
        assert [torn.read_bytes() for torn in folder.glob("journal.torn-*")] == ([tail] if tail else [])
        assert len(entries) - len(recovered) == bool(tail)


def is_recovery_note(fact: Fact) -> bool:
    return isinstance(fact, NoteAdded) and fact.by == THE_RECORD


def test_a_journal_cut_behind_its_head_is_damage(folder: Path) -> None:
    """Cut anywhere while the head says more was acknowledged: reported, never silently shortened."""
    append(folder, "one", "two")
    whole = (folder / "journal.jsonl").read_bytes()
    for cut in range(len(whole)):
        (folder / "journal.jsonl").write_bytes(whole[:cut])
        with pytest.raises(DamagedRecord):
            read_journal(folder)
        with pytest.raises(DamagedRecord), Journal(folder, FakeClock()).held():
            pass
        assert (folder / "journal.jsonl").read_bytes() == whole[:cut], "damage is left as it is"


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_a_flipped_bit_anywhere_in_the_journal_is_damage(folder: Path, flip: int) -> None:
    """A bit flipped in any byte of any record, the last included, is reported by reader and writer."""
    append(folder, "one", "two")
    whole = (folder / "journal.jsonl").read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= flip
        (folder / "journal.jsonl").write_bytes(damaged)
        with pytest.raises((DamagedRecord, NewerFormat)):
            read_journal(folder)
        with pytest.raises((DamagedRecord, NewerFormat)), Journal(folder, FakeClock()).held():
            pass


@pytest.mark.parametrize("flip", [0x01, 0x10, 0x80])
def test_a_flipped_bit_anywhere_in_the_head_is_noticed_and_loses_nothing(folder: Path, flip: int) -> None:
    """A bit flipped in any byte of the head is noticed; every acknowledged record stays, and the head is mended."""
    append(folder, "one", "two")
    head, journal_bytes = (folder / "head").read_bytes(), (folder / "journal.jsonl").read_bytes()
    for position in range(len(head)):
        damaged = bytearray(head)
        damaged[position] ^= flip
        (folder / "head").write_bytes(damaged)
        (folder / "journal.jsonl").write_bytes(journal_bytes)
        reading = read_journal(folder)
        assert not reading.is_head_whole, position
        assert [entry.n for entry in reading.entries] == [1, 2, 3]
        with Journal(folder, FakeClock()).held() as held:
            assert is_recovery_note(held.news[-1].fact)
        assert read_journal(folder).is_head_whole
        assert texts(folder)[:2] == ["one", "two"]


def test_a_head_torn_while_it_was_written_loses_nothing(folder: Path) -> None:
    """The head cut off half-way through naming a durable record: that record stays."""
    heads = write_and_keep_heads(folder, "one", "two")
    before, after = heads[2], heads[3]
    for written in range(1, 103):
        start = 103 if 3 % 2 else 0
        torn = bytearray(before)
        torn[start : start + written] = after[start : start + written]
        (folder / "head").write_bytes(torn)
        if bytes(torn) not in (before, after):
            assert texts(folder) == ["one", "two"], written


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "head").unlink(),
        lambda folder: (folder / "journal.jsonl").unlink(),
        lambda folder: (folder / "head").write_bytes(b""),
        lambda folder: (folder / "journal.jsonl").write_bytes(b""),
    ],
)
def test_a_lost_file_is_damage(folder: Path, spoil: Callable[[Path], None]) -> None:
    """A journal or head that is gone or empty is damage with a remedy, never an empty run."""
    append(folder, "one")
    spoil(folder)
    with pytest.raises(DamagedRecord) as refusal:
        read_journal(folder)
    assert "backup" in refusal.value.remedy


def test_a_record_taken_out_or_moved_is_damage(folder: Path) -> None:
    """Removing, swapping or repeating whole records breaks the chain."""
    append(folder, "one", "two", "three")
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for order in ([0, 2, 3], [0, 2, 1, 3], [0, 1, 1, 3], [1, 2, 3], [0, 1, 2, 2]):
        (folder / "journal.jsonl").write_bytes(b"".join(lines[i] for i in order))
        with pytest.raises(DamagedRecord):
            read_journal(folder)


def test_an_older_head_or_an_older_journal_put_back_is_damage(folder: Path, clock: FakeClock) -> None:
    """Rolling either file back under a writer that knows better is noticed."""
    journal = Journal(folder, clock)
    heads = write_and_keep_heads(folder, "one", "two", "three")
    with journal.held():
        pass
    (folder / "head").write_bytes(heads[2])
    with pytest.raises(DamagedRecord), journal.held():
        pass


def test_a_newer_format_is_refused_by_name(folder: Path) -> None:
    """A journal in a newer format is not called damaged: the message says to use the newer program."""
    forge(folder, lambda body: body.replace(b'{"format":1', b'{"format":2', 1))
    with pytest.raises(NewerFormat, match="format 2") as refusal:
        read_journal(folder)
    assert "newer version" in refusal.value.remedy


def test_a_field_of_a_newer_program_is_not_called_damage(folder: Path) -> None:
    """A whole record with something in it that we do not know was written by a newer version."""
    forge(folder, lambda body: body.replace(b'"seed":0', b'"seed":0,"mood":"good"'))
    with pytest.raises(NewerFormat, match="record 1"):
        read_journal(folder)


def test_a_journal_rewritten_with_new_hashes_does_not_fit_its_head(folder: Path) -> None:
    """Whoever changes a record and computes every hash again is found out by the head."""
    append(folder, "one", "two")
    forge(folder, lambda body: body.replace(b'"one"', b'"won"'), with_head=False)
    with pytest.raises(DamagedRecord, match="which its head names"):
        read_journal(folder)


@pytest.mark.parametrize(("n", "prev"), [(7, ""), (2, "f" * 64)])
def test_a_line_must_follow_the_one_before(folder: Path, n: int, prev: str) -> None:
    """A line that is whole in itself but has another number, or follows another line, is damage."""
    first = read_journal(folder).entries[0]
    line, _ = encode(NoteAdded(by="x", text="y"), n, "2026-11-18T09:00:00.000000Z", prev or first.hash)
    with pytest.raises(DamagedRecord, match="does not follow"):
        decode(line, 2, first.hash)


@pytest.mark.parametrize(
    "poison",
    [
        StepDone(step=1, tool="t", seconds=float("inf")),
        StepDone(step=1, tool="t", inputs={"x": float("nan")}),
        StepDone(step=1, tool="t", inputs={"x": 10**5000}),
        StepDone(step=1, tool="t", inputs={"x": json.loads("[" * 220 + "]" * 220)}),
    ],
)
def test_what_would_not_read_back_is_refused_before_it_is_written(folder: Path, poison: Fact) -> None:
    """A fact that JSON cannot hold is the caller's error; the journal stays as it was and takes the next."""
    before = (folder / "journal.jsonl").read_bytes()
    with pytest.raises(CallerError, match="cannot be recorded"), Journal(folder, FakeClock()).held() as held:
        held.append(poison)
    assert (folder / "journal.jsonl").read_bytes() == before
    append(folder, "next")
    assert texts(folder) == ["next"]


def test_news_that_could_not_be_taken_in_stays_news(folder: Path, clock: FakeClock) -> None:
    """If repairing fails, what others appended is news again to the next holder, not lost to it."""
    journal = Journal(folder, clock)
    with journal.held():
        pass
    append(folder, "theirs")
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b"torn")
    for fails_at in range(1, 6):
        with FailingDisk(fails_at).installed(), pytest.raises(MachineRefused), journal.held():
            pass
    with journal.held() as held:
        assert held.news[0].fact == NoteAdded(by="anna", text="theirs")


def test_a_journal_cut_short_under_a_writer_is_damage(folder: Path, clock: FakeClock) -> None:
    """A journal that became shorter than a writer knows it is damage, not a crash."""
    append(folder, "one", "two")
    journal = Journal(folder, clock)
    with journal.held():
        pass
    (folder / "journal.jsonl").write_bytes(b"")
    with pytest.raises(DamagedRecord, match="cut off"), journal.held():
        pass


def test_processes_that_append_at_once_leave_one_chain(folder: Path) -> None:
    """Four processes appending as fast as they can: every record is there once, in one unbroken chain."""
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append, args=(folder, *(f"{who} {n}" for n in range(50)))) for who in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = texts(folder)
    assert sorted(found) == sorted(f"{who} {n}" for who in "abcd" for n in range(50))
    assert [text for text in found if text.startswith("a")] == [f"a {n}" for n in range(50)]


def test_an_error_in_the_middle_of_the_lock_lets_it_go(folder: Path, clock: FakeClock) -> None:
    """When the caller fails while holding the journal, the next one gets it at once."""
    journal = Journal(folder, clock)
    with pytest.raises(RuntimeError), journal.held():
        raise RuntimeError("a bug above")
    append(folder, "one")
    assert texts(folder) == ["one"]


def test_the_clock_may_go_back(folder: Path, clock: FakeClock) -> None:
    """Records keep their order by number when the clock goes back, and each its own time."""
    journal = Journal(folder, clock)
    with journal.held() as held:
        held.append(NoteAdded(by="x", text="first"))
        clock.move(-3600)
        held.append(NoteAdded(by="x", text="second"))
    entries = read_journal(folder).entries
    assert texts(folder) == ["first", "second"]
    assert entries[2].at < entries[1].at


def test_the_head_names_the_last_record(folder: Path) -> None:
    """The head always names the last acknowledged record."""
    append(folder, "one", "two")
    with (folder / "head").open("rb") as file:
        head = read_head(file.fileno())
    assert (head.n, head.hash) == (3, read_journal(folder).entries[-1].hash)


@given(garbage=st.binary(min_size=1, max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_behind_the_last_record_is_set_aside(folder: Path, garbage: bytes) -> None:
    """Whatever lies behind the last acknowledged record is kept aside, byte for byte, and noted."""
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(garbage)
    before = len(read_journal(folder).entries)
    with Journal(folder, FakeClock()).held() as held:
        entries = held.news
        note = entries[-1].fact
    assert len(entries) == before + 1
    assert isinstance(note, NoteAdded)
    assert (folder / note.text.split()[-1]).read_bytes() == garbage


def test_every_error_says_what_to_do() -> None:
    """A record's error prints what happened and, behind an arrow, what to do."""
    assert str(RunRecordError("it broke", "mend it")) == "it broke\n  → mend it"
