"""Findings add up to four scores, a verdict and a critique."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from three_tools.evaluator.finding import Dimension, Finding
from three_tools.evaluator.rubric import CRITIQUE_CHARACTERS, judge

FINDINGS = st.lists(
    st.builds(
        Finding,
        dimension=st.sampled_from(get_args(Dimension)),
        about=st.sampled_from(["a.csv", "b.png", "the call"]),
        check=st.sampled_from(["opens", "rows", "source"]),
        score=st.floats(0, 1),
        is_required=st.booleans(),
        text=st.text(max_size=400),
    ),
    max_size=12,
)


def broken(*names: str, of: int) -> list[Finding]:
    files = [*names, *(f"good{number}" for number in range(of - len(names)))]
    return [Finding("correctness", name, "opens", float(name not in names)) for name in files]


@given(FINDINGS, st.floats(0, 1))
def test_scores_lie_between_0_and_1(findings: list[Finding], threshold: float) -> None:
    """Whatever was found, each score and their mean lie within 0 and 1, and the critique is one short line."""
    judgement = judge(findings, threshold)
    scores = (judgement.completeness, judgement.correctness, judgement.evidence, judgement.hygiene)
    assert all(0 <= score <= 1 for score in (*scores, judgement.aggregate))
    assert judgement.aggregate == pytest.approx(sum(scores) / 4)
    assert 0 < len(judgement.critique) <= CRITIQUE_CHARACTERS
    assert len(judgement.critique.splitlines()) == 1


@given(FINDINGS.filter(bool), st.data())
def test_a_worse_finding_never_helps(findings: list[Finding], data: st.DataObject) -> None:
    """Making one finding worse never raises the aggregate and never turns FAIL into PASS."""
    place = data.draw(st.integers(0, len(findings) - 1))
    worse = [*findings]
    worse[place] = replace(findings[place], score=data.draw(st.floats(0, findings[place].score)))
    before, after = judge(findings, 0.8), judge(worse, 0.8)
    assert after.aggregate <= before.aggregate + 1e-9
    assert (before.verdict, after.verdict) != ("FAIL", "PASS")


@given(FINDINGS)
def test_a_failed_required_check_fails_the_step(findings: list[Finding]) -> None:
    """A required check that failed means FAIL, even where any aggregate would do."""
    failed = Finding("correctness", "a.csv", "columns", 0.0, is_required=True)
    assert judge([*findings, failed], 0.0).verdict == "FAIL"


def test_no_findings_are_a_clean_step() -> None:
    """A step of which nothing is expected passes with all scores at 1."""
    judgement = judge([], 0.8)
    assert (judgement.verdict, judgement.aggregate, judgement.critique) == ("PASS", 1.0, "the call did what was asked")


@pytest.mark.parametrize(("of", "score"), [(1, 0.0), (2, 0.5), (4, 0.75)])
def test_a_broken_file_counts_as_one_of_its_files(of: int, score: float) -> None:
    """One broken file of one gives 0 for Correctness, one of four 0.75."""
    assert judge(broken("bad", of=of), 0.8).correctness == score


def test_a_file_is_as_correct_as_its_worst_check() -> None:
    """Passed checks of the same file do not make up for a failed one."""
    checks = [Finding("correctness", "a.csv", str(number), 1.0) for number in range(9)]
    assert judge([*checks, Finding("correctness", "a.csv", "even rows", 0.0)], 0.8).correctness == 0


def test_penalties_of_hygiene_add_up() -> None:
    """Two halves lost leave nothing, and it never goes below."""
    half = Finding("hygiene", "the call", "a warning on stderr", 0.5)
    assert [judge([half] * count, 0.8).hygiene for count in (1, 2, 3)] == [0.5, 0.0, 0.0]


def test_the_critique_names_required_and_worst_first() -> None:
    """What made the step fail comes first, with its value; what there is no room for is counted."""
    findings = [Finding("hygiene", "the call", f"small matter {number}", 0.9, text="x" * 60) for number in range(9)]
    findings.append(Finding("correctness", "kpis.csv", "rows", 0.0, is_required=True, text="3, at least 10 expected"))
    critique = judge(findings, 0.8).critique
    assert critique.startswith("kpis.csv: rows: 3, at least 10 expected; the call: small matter 0")
    assert critique.endswith("; and 7 more")


def test_an_aggregate_at_the_threshold_passes() -> None:
    """0.8 is enough where 0.8 is asked."""
    assert judge([Finding("evidence", "the call", "results", 0.2)], 0.8).verdict == "PASS"


def test_a_score_that_is_no_number_has_not_passed() -> None:
    """NaN counts as 0."""
    assert judge([Finding("evidence", "a", "source", float("nan"), is_required=True)], 0.8).verdict == "FAIL"
