"""One run's record, kept together."""

import json
import threading

import pytest

from fakes.plain_user import as_plain_user
from run_record import Call, Home, NoteAdded, Question, RunRecord, StepEvaluated, read_journal
from run_record.errors import AmbiguousRun, CallerError, MachineRefused, NotFound, RunIsClosed, StepsPending


def test_a_closed_run_takes_notes_only(record: RunRecord) -> None:
    """After its end a run refuses steps, evaluations and a second end, and takes notes."""
    record.record_step(Call(tool="sandbox.exec"))
    record.record_evaluation(StepEvaluated(step=1, verdict="PASS"))
    record.close("done")
    for attempt in (
        lambda: record.record_step(Call(tool="sandbox.exec")),
        lambda: record.record_evaluation(StepEvaluated(step=1, verdict="FAIL")),
        lambda: record.close("failed"),
    ):
        with pytest.raises(RunIsClosed, match="takes notes only"):
            attempt()
    record.note("anna", "afterthought")
    assert record.state.notes[-1][1] == NoteAdded(by="anna", text="afterthought")


def test_nobody_signs_as_the_record(record: RunRecord) -> None:
    """A note cannot pretend that the record itself says something."""
    with pytest.raises(CallerError, match="nobody but the record"):
        record.note("the record", "all is well")


def test_a_note_has_a_limit(record: RunRecord) -> None:
    """A note that is a whole document is refused: it belongs into a file."""
    with pytest.raises(CallerError, match="partner files write"):
        record.note("anna", "x" * 100_001)


def test_a_close_in_another_process_is_seen(home: Home, record: RunRecord) -> None:
    """A run that another process closed refuses our next step, although we opened it before."""
    home.open_run(record.state.opened.run_id).close("cancelled", "the question changed")
    with pytest.raises(RunIsClosed):
        record.record_step(Call(tool="sandbox.exec"))


def test_a_run_cannot_end_with_steps_pending(record: RunRecord) -> None:
    """A run with a step that nobody judged cannot be closed; the message names the step."""
    record.record_step(Call(tool="sandbox.exec"))
    with pytest.raises(StepsPending, match="steps 1"):
        record.close("done")


def test_pending_steps_are_known_after_a_crash(home: Home, record: RunRecord) -> None:
    """Opened again, a run knows which of its steps still need an evaluation."""
    for _ in range(3):
        record.record_step(Call(tool="sandbox.exec"))
    record.record_evaluation(StepEvaluated(step=2, verdict="PASS"))
    assert list(home.open_run(record.state.opened.run_id).state.pending) == [1, 3]


def test_a_step_that_does_not_exist_cannot_be_judged(record: RunRecord) -> None:
    """An evaluation of an unknown step is refused and leaves no trace."""
    with pytest.raises(NotFound, match="no step 7"):
        record.record_evaluation(StepEvaluated(step=7, verdict="PASS"))
    assert len(read_journal(record.folder).entries) == 1


def test_the_index_lists_every_file_with_its_step(record: RunRecord) -> None:
    """index.json, written at the end, has path, size, sha256, kind, step and title of each file."""
    record.workspace.write("artifacts/decision_brief.pdf", b"%PDF")
    record.workspace.write("kpis.parquet", b"1")
    record.record_step(Call(tool="sandbox.exec"))
    record.workspace.write("kpis.parquet", b"22")
    record.record_step(Call(tool="sandbox.exec"))
    for step in (1, 2):
        record.record_evaluation(StepEvaluated(step=step, verdict="PASS"))
    record.close("done")
    index = json.loads((record.folder / "index.json").read_text())
    assert index["run_id"] == record.state.opened.run_id
    assert [(f["path"], f["size"], f["kind"], f["step"], f["title"]) for f in index["files"]] == [
        ("artifacts/decision_brief.pdf", 4, "document", 1, "Decision brief"),
        ("kpis.parquet", 2, "table", 2, "Kpis"),
    ]
    assert all(len(f["sha256"]) == 64 for f in index["files"])


def test_threads_of_one_process_share_a_record(record: RunRecord) -> None:
    """Parallel tools that record at once get numbers without a gap or a double, and one log."""

    def work(name: str) -> None:
        for _ in range(10):
            step = record.record_step(Call(tool="browser.search", name=name)).step
            record.record_evaluation(StepEvaluated(step=step, verdict="PASS"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(record.state.steps) == list(range(1, 41))
    log = (record.folder / "CEL.md").read_text()
    assert [f"## Step {n}:" in log for n in range(1, 41)] == [True] * 40
    assert "PENDING" not in log


def test_runs_are_found_by_prefix_and_as_latest(home: Home) -> None:
    """A run is found by its id, by an unambiguous beginning in any case, and as 'latest'."""
    ids = [home.create_run(Question(by="anna")).state.opened.run_id for _ in range(3)]
    assert home.find(ids[0]) == ids[0]
    assert home.find(ids[1][:9].upper()) == ids[1]
    assert home.find("latest") == ids[2]


def test_an_ambiguous_prefix_names_the_candidates(home: Home) -> None:
    """A beginning that fits several runs is refused with their ids."""
    ids = [home.create_run(Question(by="anna")).state.opened.run_id for _ in range(40)]
    first = next(i[0] for i in ids if sum(other[0] == i[0] for other in ids) > 1)
    with pytest.raises(AmbiguousRun, match="give more of the id"):
        home.find(first)


@pytest.mark.parametrize("name", ["", "nope", "../runs", "*", "\x1b[31m", "0" * 5000])
def test_an_unknown_run_is_not_found(home: Home, record: RunRecord, name: str) -> None:
    """A name that fits no run is not found, and the message cannot disturb the terminal."""
    with pytest.raises(NotFound) as refusal:
        home.find(name)
    assert "\x1b" not in str(refusal.value)


def test_an_empty_home_has_no_latest_run(home: Home) -> None:
    """Before the first run there is no latest one, and the message says how to make one."""
    with pytest.raises(NotFound, match="partner open"):
        home.find("latest")
    assert list(home.run_ids()) == []


def test_latest_is_the_newest_even_if_the_clock_went_back(home: Home, clock) -> None:
    """The latest run is the one opened last, whatever its time of day says."""
    home.create_run(Question(by="anna"))
    clock.move(-86_400)
    newest = home.create_run(Question(by="anna")).state.opened.run_id
    assert home.find("latest") == newest


def test_a_home_that_cannot_be_written_is_a_clear_error(home: Home) -> None:
    """A home that cannot be made is refused by its name, with a remedy."""
    home.root.write_text("a file is in the way")
    with pytest.raises(MachineRefused, match=str(home.root)):
        home.create_run(Question(by="anna"))


def test_a_home_without_permission_is_a_clear_error(home: Home) -> None:
    """A home in a folder that this user may not write to is refused by its name, with a remedy."""
    home.root.parent.chmod(0o500)

    def refused() -> None:
        with pytest.raises(MachineRefused, match="name another home") as refusal:
            home.create_run(Question(by="anna"))
        assert str(home.root) in str(refusal.value)

    try:
        assert as_plain_user(refused)
    finally:
        home.root.parent.chmod(0o700)


def test_a_run_appears_whole_or_not_at_all(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose making fails half-way is not listed and leaves nothing behind."""
    monkeypatch.setattr(
        "run_record.home.create_journal", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(MachineRefused):
        home.create_run(Question(by="anna"))
    assert list(home.run_ids()) == []
    assert [path.name for path in (home.root / "runs").rglob("*")] == [".unborn"]


def test_a_run_left_half_made_by_a_kill_is_swept(home: Home) -> None:
    """What a killed process left of a run that never was is gone when the next run is made by a new process."""
    home.create_run(Question(by="anna"))
    (home.runs / ".unborn" / "left" / "tmp").mkdir(parents=True)
    run = Home(home.root).create_run(Question(by="anna"))
    assert list((home.runs / ".unborn").iterdir()) == []
    assert run.folder.is_dir()


def test_run_ids_are_unguessable(home: Home) -> None:
    """Ids carry eighty random bits and never repeat."""
    ids = {home.create_run(Question(by="anna")).state.opened.run_id for _ in range(20)}
    assert len(ids) == 20
    assert all(len(run_id.replace("-", "")) == 16 for run_id in ids)


def test_folders_let_a_foreign_uid_pass_but_not_look(home: Home, record: RunRecord) -> None:
    """Above tmp/ others may pass through and list nothing; journal and head are the owner's alone."""
    modes = {path: path.stat().st_mode & 0o777 for path in (home.root, home.runs, record.folder, record.workspace.root)}
    assert list(modes.values()) == [0o755, 0o711, 0o711, 0o700]
    assert {(record.folder / name).stat().st_mode & 0o077 for name in ("journal.jsonl", "head", "CEL.md")} == {0}
