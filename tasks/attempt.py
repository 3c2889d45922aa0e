"""Trying a step once: in the record from its beginning to its end, however it ends."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import ValidationError

from run_record import Artifact, Sha256
from run_record.changes import Changes, changes
from run_record.errors import RunRecordError
from tasks.kept_step import KeptStep
from tasks.kernel import Kernel
from tasks.read_set import NOTHING, Files, ReadSet, empty_folders, observed, snapshot
from tasks.step import Step
from three_tools.after_call import Ask
from three_tools.browser_search import BoundedSearch
from three_tools.contracts import FileOut, SandboxExecResult
from three_tools.outcome import Outcome
from three_tools.run import Run
from three_tools.tmp_files import StreamedWrite
from three_tools.tool import Report
from three_tools.words import names

NO_KEY = Sha256("0" * 64)
"""Of a step that is never cached."""

_SEARCHED_BYTES = 16_000_000
"""Files that hold paths are smaller."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a try ended, and what is kept of it; nothing is kept of one that failed."""

    outcome: Outcome
    ask: Ask
    kept: KeptStep | None


def files_of(run: Run) -> Files:
    """The run's files as the record has them, and its folders as they are."""
    run.record.catch_up()
    files = {path: file.artifact.sha256 for path, file in run.record.state.files.copy().items()}
    return snapshot(files, run.workspace.empty_folders())


def try_once(run: Run, kernel: Kernel, step: Step, key: Sha256 | None) -> Attempt:
    """Call the tool. What ends the call from outside, and what is our own failure, is recorded here and raised."""
    before = files_of(run) if step.tool == "sandbox.exec" else snapshot({})
    ask = step.ask(run.record.begin_attempt(step.tool, step.name))
    report, began = Report(), time.perf_counter()
    try:
        outcome = _execute(run, kernel, step, ask, report)
        _remark(step, ask, outcome.report)
        return Attempt(outcome, ask, _keep(run, step, key or NO_KEY, outcome, before) if outcome.ok else None)
    except BaseException as error:
        is_late = isinstance(error, asyncio.CancelledError)  # Prefect's time limit stops what runs in the main thread
        why = TimeoutError("it took longer than its task may") if is_late else error
        run.record_broken(step.tool, why, ask, report, time.perf_counter() - began)
        kernel.distrust()
        raise


def _execute(run: Run, kernel: Kernel, step: Step, ask: Ask, report: Report) -> Outcome:
    if step.tool == "sandbox.exec":
        return kernel.run(step.name, lambda: run.execute(step.tool, step.arguments, ask, report))
    if step.timeout_s is not None:
        return run.execute(step.tool, _bounded(step, step.timeout_s), ask, report)
    if step.source is None:
        return run.execute(step.tool, step.arguments, ask, report)
    with open(step.source, "rb") as stream:
        return run.execute(step.tool, StreamedWrite(path=str(step.arguments["path"]), stream=stream), ask, report)


def _bounded(step: Step, within_s: float) -> object:
    """A search with its time; what cannot be searched for is the registry's to refuse."""
    try:
        return BoundedSearch.model_validate({**step.arguments, "within_s": within_s})
    except ValidationError:
        return step.arguments


def _remark(step: Step, ask: Ask, report: Report) -> None:
    """What the record says beside what the tool says itself."""
    if ask.attempt > 1:
        report.inputs["attempt"] = ask.attempt
    undeclared = [path for path in report.touched.read if not _is_declared(path, step)] if report.touched else []
    if undeclared:
        report.did.insert(1, f"read what recipe.toml does not declare: {names(undeclared)}")


def _is_declared(path: str, step: Step) -> bool:
    return path in step.reads or any(fnmatchcase(path, pattern) for pattern in step.reads)


def _keep(run: Run, step: Step, key: Sha256, outcome: Outcome, before: Files) -> KeptStep:
    report, result = outcome.report, outcome.result
    seen = report.seen = report.seen or run.record.look(report.paths or ())
    found = changes(seen, run.record.state)
    # Beside a cell others may have put files there; those are not its own.
    own = _as_artifacts(result.files_out) if isinstance(result, SandboxExecResult) else found.artifacts
    deleted = report.touched.deleted if report.touched else ()
    removed = tuple(path for path in found.removed if path in deleted)
    after = _after(before, own, removed, run.workspace.empty_folders())
    kept = KeptStep(
        key=key,
        run_id=run.run_id,
        basis=step.basis,
        tool=outcome.tool,
        name=step.name,
        seconds=outcome.seconds,
        result=outcome.as_json(),
        artifacts=own,
        removed=removed,
        folders=tuple(sorted(empty_folders(after) - empty_folders(before))),
        outputs=report.outputs,
        stderr=report.stderr,
        results=report.results,
        citations=report.citations,
        reads=None if _say_where_it_lies(run, own) else _reads(report, found, before, after),
    )
    return kept.sealed()


def _say_where_it_lies(run: Run, files: Sequence[Artifact]) -> bool:
    """Whether one of the files names this run's folder, as absolute paths do: no other run may go there."""
    word = run.run_id.encode()
    small = [artifact.path for artifact in files if artifact.size <= _SEARCHED_BYTES]
    return any(word in _content(run, path) for path in small)


def _content(run: Run, path: str) -> bytes:
    try:
        with run.workspace.open(path) as file:
            return file.read(_SEARCHED_BYTES)
    except RunRecordError:  # changed since, by whoever works beside the cell
        return b""


def _reads(report: Report, found: Changes, before: Files, after: Files) -> ReadSet | None:
    """What the step depended on; None as well for a cell that leaves what is not kept, such as a link."""
    if report.touched is None:
        return NOTHING
    has_removed_folder = any(f"{folder}/" not in after for folder in empty_folders(before))
    return None if found.skipped or has_removed_folder else observed(report.touched, report.source, before, after)


def _after(before: Files, own: Sequence[Artifact], removed: Sequence[str], empty: Iterable[str]) -> Files:
    files = {path: sha256 for path, sha256 in before.items() if not path.endswith("/") and path not in removed}
    return snapshot({**files, **{artifact.path: artifact.sha256 for artifact in own}}, empty)


def _as_artifacts(files: Sequence[FileOut]) -> tuple[Artifact, ...]:
    return tuple(Artifact(path=file.path, size=file.size, sha256=Sha256(file.sha256)) for file in files)
