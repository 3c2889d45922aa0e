"""Findings about the call itself: what is known of it outside the sandbox. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from three_tools.evaluator.expected_paths import matching
from three_tools.evaluator.finding import CALL, Finding
from three_tools.evaluator.judged_step import JudgedStep

_ERROR: Final = re.compile(
    r"^Traceback \(most recent call last\)|^[\w.]*(?:Error|Exception)\s*:|^(?:error|fatal)\b.*:"
    r"|\b(?:ERROR|CRITICAL|FATAL)\b",
    re.MULTILINE,
)
_WARNING: Final = re.compile(r"[Ww]arning:|\bWARN(?:ING)?\b")
_QUOTED: Final = 100


def call_findings(step: JudgedStep) -> list[Finding]:
    """Whether it did what was asked, made its files, brought results, and left things clean."""
    return [*_completeness(step), *_evidence(step), *_hygiene(step)]


def _completeness(step: JudgedStep) -> Iterator[Finding]:
    """A call that failed has made nothing, whatever lies around; one that went well is judged by its files."""
    required = [each for each in step.expects.files if each.is_required]
    if not step.ok or not required:
        check = "did what was asked" if step.ok else step.code or step.cause or "failed"
        yield Finding("completeness", CALL, check, float(step.ok), True, "" if step.ok else step.detail)
        return
    for expected in required:
        found = matching(expected.path, step.files)
        yield Finding("completeness", expected.path, "is there", float(bool(found)), True, "" if found else "not found")


def _evidence(step: JudgedStep) -> Iterator[Finding]:
    if step.results is None:
        return
    least = step.expects.min_results
    text = f"{step.results} found" if step.results >= least else f"{step.results} of at least {least}"
    yield Finding("evidence", CALL, "results", min(1.0, step.results / least) if least else 1.0, True, text)
    if step.results:
        missing = [path for path in step.citations if path not in step.files]
        is_there = bool(step.citations) and not missing
        text = "" if is_there else f"not found: {', '.join(missing) or 'no file was named'}"
        yield Finding("evidence", CALL, "citations file", float(is_there), True, text)


def _hygiene(step: JudgedStep) -> Iterator[Finding]:
    yield from _stderr(step.stderr)
    budget_s = step.expects.budget_s
    if budget_s is not None and step.seconds > budget_s:
        score = 0.0 if step.seconds > 2 * budget_s else 0.5
        yield Finding("hygiene", CALL, "time budget", score, text=f"{step.seconds:.1f} s of {budget_s:g} s")
    if step.killed_processes:
        text = f"{step.killed_processes} were ended"
        yield Finding("hygiene", CALL, "processes left behind", 0.75, text=text)
    if step.skipped:
        path, why = min(step.skipped.items())
        more = f" and {len(step.skipped) - 1} more" if len(step.skipped) > 1 else ""
        yield Finding("hygiene", CALL, "passed over", 0.75, text=f"{path} ({why}){more}")


def _stderr(text: str) -> Iterator[Finding]:
    """An error weighs most, then a warning; other words there are nearly nothing."""
    for pattern, check, score in (
        (_ERROR, "an error on stderr", 0.0),
        (_WARNING, "a warning on stderr", 0.5),
        (re.compile(r"\S"), "text on stderr", 0.9),
    ):
        if found := pattern.search(text):
            yield Finding("hygiene", CALL, check, score, text=_line_at(text, found.start()))
            return


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + _QUOTED * 2].split("\n", 1)[0].strip()[:_QUOTED]
