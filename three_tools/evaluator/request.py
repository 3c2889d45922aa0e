"""What the Evaluator's cell is asked to open: which objects, by what names, and what is expected of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from run_record import Artifact, ObjectStore
from three_tools.evaluator import bundle
from three_tools.evaluator.expectations import ExpectedFile
from three_tools.evaluator.expected_paths import matching
from three_tools.evaluator.finding import Finding
from three_tools.evaluator.judged_step import JudgedStep

MOST_FILE_BYTES: Final = 256 << 20
MOST_BYTES: Final = 1 << 30
MOST_FILES: Final = 2000
_CODE: Final = """
import importlib, sys
sys.path.append({bundle!r})
importlib.import_module("step_checks").main({text!r})
"""
_CLAIMS_FILES: Final = ("facts.json", "facts.md")


@dataclass(frozen=True, slots=True)
class Request:
    """A check that is ready to run, and what of the step it cannot open."""

    code: str
    files: Mapping[str, Path]
    left_out: tuple[Finding, ...]


def make_request(step: JudgedStep, objects: ObjectStore) -> Request:
    """Everything the step made or was expected to make. Objects go in under their hashes: no name can pass for code."""
    chosen, left_out = _choose(step)
    cited = _citations(step) if any(_has_claims(path, step) for path in chosen) else {}
    sent = {artifact.sha256 for artifact in (*chosen.values(), *cited.values())}
    for sha256 in sent:
        objects.check(sha256)
    files = {f"objects/{sha256}": objects.path(sha256).resolve() for sha256 in sorted(sent)}
    files[bundle.NAME] = objects.path(objects.have(bundle.bundle())).resolve()
    text = json.dumps(
        {
            "files": [_entry(path, artifact, step) for path, artifact in chosen.items()],
            "must_be_cited": step.has_searched or bool(cited),
            "citations": [f"objects/{artifact.sha256}" for artifact in cited.values()],
            "paths": sorted(step.files) if cited or any(_has_claims(path, step) for path in chosen) else [],
        }
    )
    return Request(_CODE.format(bundle=bundle.NAME, text=text), files, tuple(left_out))


def _choose(step: JudgedStep) -> tuple[dict[str, Artifact], list[Finding]]:
    """What to open, and findings that say what is not."""
    wanted = {artifact.path: artifact for artifact in step.artifacts}
    for expected in step.expects.files:
        wanted |= {path: step.files[path] for path in matching(expected.path, step.files)}
    chosen: dict[str, Artifact] = {}
    left_out: list[Finding] = []
    room = MOST_BYTES
    for path, artifact in sorted(wanted.items()):
        if artifact.size > min(room, MOST_FILE_BYTES) or len(chosen) >= MOST_FILES:
            why = "too large" if artifact.size > MOST_FILE_BYTES else "too much for one check"
            text = f"not opened: {why} ({artifact.size} bytes)"
            is_declared = any(map(_has_checks, _expectations(path, step)))
            left_out.append(Finding("correctness", path, "opens", float(not is_declared), is_declared, text))
        else:
            chosen[path] = artifact
            room -= artifact.size
    return chosen, left_out


def _entry(path: str, artifact: Artifact, step: JudgedStep) -> dict[str, JsonValue]:
    return {
        "path": path,
        "object": f"objects/{artifact.sha256}",
        "expects": [each.model_dump(mode="json") for each in _expectations(path, step)],
        "has_claims": _has_claims(path, step),
    }


def _expectations(path: str, step: JudgedStep) -> list[ExpectedFile]:
    return [each for each in step.expects.files if matching(each.path, [path])]


def _has_checks(expected: ExpectedFile) -> bool:
    """Whether it says more of a file than that it is there: that cannot pass unseen."""
    return bool(expected.model_dump(exclude={"path", "is_required"}, exclude_defaults=True))


def _has_claims(path: str, step: JudgedStep) -> bool:
    declared = [each.has_claims for each in _expectations(path, step) if each.has_claims is not None]
    return any(declared) if declared else path.rpartition("/")[2] in _CLAIMS_FILES


def _citations(step: JudgedStep) -> dict[str, Artifact]:
    """The files that hold what the run's searches brought, as many as there is room for."""
    paths = sorted({*matching("citations/*.json", step.files), *step.citations} & step.files.keys())
    found = {path: step.files[path] for path in paths if step.files[path].size <= MOST_FILE_BYTES}
    return dict(list(found.items())[:MOST_FILES])
