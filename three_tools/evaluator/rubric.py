"""Findings in, judgement out: four scores, their mean, a verdict and a critique. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

from three_tools.evaluator.finding import CALL, SOURCE, Dimension, Finding

CRITIQUE_CHARACTERS: Final = 300
DID_WHAT_WAS_ASKED: Final = "the call did what was asked"
_DIMENSIONS: Final[tuple[Dimension, ...]] = ("completeness", "correctness", "evidence", "hygiene")
_PART_CHARACTERS: Final = 160
_ROUNDING: Final = 9  # digits: 0.1 + 0.7 is to count as 0.8


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the findings add up to."""

    verdict: Literal["PASS", "FAIL"]
    completeness: float
    correctness: float
    evidence: float
    hygiene: float
    aggregate: float
    critique: str


def judge(findings: Sequence[Finding], pass_threshold: float) -> Judgement:
    """PASS when the mean of the four scores reaches the threshold and no required check failed."""
    by_dimension = {name: [each for each in findings if each.dimension == name] for name in _DIMENSIONS}
    completeness = _mean(map(_score, by_dimension["completeness"]))
    correctness = _score_files(by_dimension["correctness"])
    evidence = _mean(map(_score, by_dimension["evidence"]))
    hygiene = max(0.0, 1.0 - sum(1.0 - _score(each) for each in by_dimension["hygiene"]))
    aggregate = round(fmean((completeness, correctness, evidence, hygiene)), _ROUNDING)
    has_passed = aggregate >= pass_threshold and not any(each.is_required and _score(each) < 1 for each in findings)
    critique = _praise(findings) if has_passed else _blame(findings)
    return Judgement(
        "PASS" if has_passed else "FAIL", completeness, correctness, evidence, hygiene, aggregate, critique
    )


def _score(finding: Finding) -> float:
    """Within 0 and 1, whatever a check made of it; what is no number has not passed."""
    return min(1.0, max(0.0, finding.score)) if finding.score == finding.score else 0.0


def _mean(scores: Iterable[float]) -> float:
    values = list(scores)
    return fmean(values) if values else 1.0


def _score_files(findings: Sequence[Finding]) -> float:
    """A file is as correct as the worst check of it; the score is the mean over files."""
    worst: dict[str, float] = {}
    for finding in findings:
        worst[finding.about] = min(worst.get(finding.about, 1.0), _score(finding))
    return _mean(worst.values())


def _blame(findings: Sequence[Finding]) -> str:
    """What fell short: required checks first, then the worst."""
    short = sorted(
        (each for each in findings if _score(each) < 1), key=lambda each: (not each.is_required, _score(each))
    )
    return _join([_name(each) for each in short]) if short else "the threshold is above what any step can reach"


def _praise(findings: Sequence[Finding]) -> str:
    """What fell short all the same, then what was seen."""
    seen = _counts(findings)
    seen += [_remark(each) for each in findings if _score(each) == 1 and each.text]
    short = [_name(each) for each in findings if _score(each) < 1]
    return _join(short + seen) or DID_WHAT_WAS_ASKED


def _counts(findings: Sequence[Finding]) -> list[str]:
    files = [each for each in findings if each.dimension == "completeness" and each.about != CALL]
    claims = [each for each in findings if each.check == SOURCE]
    counts = [f"{sum(_score(each) == 1 for each in files)} of {len(files)} files"] if files else []
    return [*counts, f"{len(claims)} of {len(claims)} claims have a source"] if claims else counts


def _remark(finding: Finding) -> str:
    """results: 5 found; kpis.parquet 36 rows × 5 columns"""
    return f"{finding.check}: {finding.text}" if finding.about == CALL else f"{finding.about} {finding.text}"


def _name(finding: Finding) -> str:
    return _cut(f"{finding.about}: {finding.check}" + (f": {finding.text}" if finding.text else ""), _PART_CHARACTERS)


def _join(parts: Sequence[str]) -> str:
    """As many of them as there is room for, and how many more there are."""
    kept: list[str] = []
    room = CRITIQUE_CHARACTERS - len("; and 000000 more")
    for part in parts:
        if kept and len("; ".join([*kept, part])) > room:
            break
        kept.append(_cut(part, room))
    left = len(parts) - len(kept)
    return "; ".join(kept) + (f"; and {left} more" if left else "")


def _cut(text: str, characters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"
