"""Having what an earlier run did instead of doing it again."""

import time

from run_record import Sha256
from run_record.errors import DamagedRecord, UnsafePath
from tasks.attempt import files_of
from tasks.errors import KeptIsDamaged
from tasks.kept_step import KeptStep, unsealed
from tasks.step import Step
from three_tools.outcome import Outcome
from three_tools.run import Run
from three_tools.tool import Report
from three_tools.words import count, seconds


def take_over(run: Run, step: Step, key: Sha256, stored: object) -> tuple[KeptStep, Outcome]:
    """Put back the files of a kept step, before anything reads them, and say what the record is to say of it."""
    began = time.perf_counter()
    kept = unsealed(stored, key, step.basis, files_of(run))
    try:
        seen = run.record.restore(kept.artifacts, kept.removed)
        for folder in kept.folders:
            run.workspace.make_folder(folder)
    except (DamagedRecord, UnsafePath) as error:
        raise KeptIsDamaged(f"of what the cache keeps under {key[:12]}, {error.problem}") from error
    did = f"took over what run {kept.run_id} did in {seconds(kept.seconds)}: {count(len(kept.artifacts), 'file')}"
    report = Report(
        did=[did],
        inputs={"kept": key[:12]},
        has_begun=True,
        source=str(step.arguments.get("code", "")),
        stderr=kept.stderr,
        results=kept.results,
        citations=kept.citations if step.tool == "browser.search" else None,
        paths=frozenset((*(artifact.path for artifact in kept.artifacts), *kept.removed)),
        seen=seen,
    )
    outcome = Outcome(
        tool=step.tool,
        ok=True,
        result=run.registry.guard(run.caller, step.tool).result.model_validate(kept.result),
        report=report,
        seconds=time.perf_counter() - began,
    )
    return kept, outcome
