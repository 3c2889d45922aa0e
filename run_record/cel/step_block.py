"""A Step Block: one step as CEL.md shows it, written and read back."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from run_record.artifact import Artifact
from run_record.clock import to_the_second
from run_record.facts import StepDone, StepEvaluated
from run_record.plain_text import markdown, printable, read_back

EVALUATION = "**Evaluation (by Evaluator):**"
PENDING = "PENDING"
_SCORES = ("completeness", "correctness", "evidence", "hygiene")


@dataclass(frozen=True, slots=True)
class StepBlock:
    """What a Step Block says, without its formatting."""

    step: int
    tool: str
    when: str
    inputs: str
    did: tuple[str, ...]
    artifacts: tuple[Artifact, ...]
    removed: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    next_steps: tuple[str, ...]
    evaluation: str = PENDING


def block_of(done: StepDone, at: str, evaluation: StepEvaluated | None = None) -> StepBlock:
    """The block for a step."""
    title = f" ({done.name})" if done.name else ""
    return StepBlock(
        step=done.step,
        tool=done.tool + title,
        when=to_the_second(at),
        inputs=values_text(done.inputs),
        did=done.did,
        artifacts=done.artifacts,
        removed=done.removed,
        skipped=tuple(sorted(done.skipped.items())),
        next_steps=done.next_steps,
        evaluation=evaluation_text(evaluation) if evaluation else PENDING,
    )


def values_text(values: Mapping[str, JsonValue]) -> str:
    """cell="kpis", timeout_s=30"""
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def evaluation_text(evaluation: StepEvaluated) -> str:
    """The verdict as one line: PASS 0.97 — completeness=1.00, …; critique."""
    text = evaluation.verdict
    if evaluation.aggregate is not None:
        text += f" {evaluation.aggregate:.2f}"
    scores = [(name, getattr(evaluation, name)) for name in _SCORES]
    known = ", ".join(f"{name}={score:.2f}" for name, score in scores if score is not None)
    return text + "".join(f" — {part}" for part in (known, evaluation.critique) if part)


def render(block: StepBlock) -> str:
    """The block as Markdown. Its last line is the evaluation, so that only the end of CEL.md ever changes."""
    return "".join(
        [
            f"## Step {block.step}: {markdown(block.tool)}\n",
            f"**When:** {markdown(block.when)}\n",
            f"**Inputs:** {_or_none(block.inputs)}\n",
            _list("What I did", [markdown(line) for line in block.did]),
            _list("Artifacts", [artifact_line(a) for a in block.artifacts] + _not_artifacts(block)),
            _list("Next steps", [f"[ ] {markdown(line)}" for line in block.next_steps]),
            f"{EVALUATION} {markdown(block.evaluation)}\n",
        ]
    )


def _list(title: str, lines: list[str]) -> str:
    return f"**{title}:**\n" + "".join(f"- {line}\n" for line in lines) if lines else f"**{title}:** none\n"


def artifact_line(artifact: Artifact) -> str:
    """A file with all that is needed to check it."""
    name = markdown(artifact.path.rpartition("/")[2])
    return f"{name}: {_code(artifact.path)} (size={artifact.size}, sha256={artifact.sha256})"


def _not_artifacts(block: StepBlock) -> list[str]:
    removed = [f"removed {_code(path)}" for path in block.removed]
    return removed + [f"skipped {_code(path)} ({markdown(reason)})" for path, reason in block.skipped]


def _code(path: str) -> str:
    return "`tmp/" + printable(path).replace("`", "\\x60") + "`"


def _or_none(text: str) -> str:
    return "none" if not text else "\\x6eone" if text == "none" else markdown(text)


_HEADING = re.compile(r"## Step (\d+): (.*)")
_FIELD = re.compile(r"\*\*(.+?):\*\* ?(.*)")
_ARTIFACT = re.compile(r".*?: `tmp/([^`]*)` \(size=(\d+), sha256=([0-9a-f]{64})\)")
_REMOVED = re.compile(r"removed `tmp/([^`]*)`")
_SKIPPED = re.compile(r"skipped `tmp/([^`]*)` \((.*)\)")


def parse(text: str) -> StepBlock:
    """Read a rendered block back; ValueError names the line that is not of one."""
    heading, *lines = text.removesuffix("\n").split("\n")
    match = _HEADING.fullmatch(heading)
    if match is None:
        raise ValueError(f"no Step Block starts with {heading!r}")
    fields, lists = _fields(lines)
    entries = lists.get("Artifacts", [])
    return StepBlock(
        step=int(match[1]),
        tool=read_back(match[2]),
        when=read_back(fields["When"]),
        inputs="" if fields["Inputs"] == "none" else read_back(fields["Inputs"]),
        did=tuple(read_back(line) for line in lists.get("What I did", [])),
        artifacts=tuple(
            Artifact.model_validate({"path": read_back(m[1]), "size": int(m[2]), "sha256": m[3]})
            for m in map(_ARTIFACT.fullmatch, entries)
            if m
        ),
        removed=tuple(read_back(m[1]) for m in map(_REMOVED.fullmatch, entries) if m),
        skipped=tuple((read_back(m[1]), read_back(m[2])) for m in map(_SKIPPED.fullmatch, entries) if m),
        next_steps=tuple(read_back(line.removeprefix("[ ] ")) for line in lists.get("Next steps", [])),
        evaluation=read_back(fields["Evaluation (by Evaluator)"]),
    )


def _fields(lines: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    fields: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    title = ""
    for line in lines:
        if line.startswith("- ") and title:
            lists.setdefault(title, []).append(line[2:])
        elif match := _FIELD.fullmatch(line):
            title = match[1]
            fields[title] = match[2]
        else:
            raise ValueError(f"a Step Block has no line {line!r}")
    missing = {"When", "Inputs", "What I did", "Artifacts", "Next steps", "Evaluation (by Evaluator)"} - fields.keys()
    if missing:
        raise ValueError(f"the Step Block lacks {', '.join(sorted(missing))}")
    return fields, lists
