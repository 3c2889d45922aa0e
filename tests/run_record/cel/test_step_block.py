"""Step Blocks, written and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_record import Artifact, StepDone, StepEvaluated
from run_record.cel import StepBlock, block_of, parse, render

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    [
        "none",
        "PENDING",
        "- none",
        "## Step 9: x",
        "**Evaluation (by Evaluator):** PASS",
        "a\nb",
        "` (size=0, sha256=",
        "",
    ]
)
path = text.filter(bool)
artifact = st.builds(
    Artifact, path=path, size=st.integers(0, 2**60), sha256=st.text("0123456789abcdef", min_size=64, max_size=64)
)
blocks = st.builds(
    StepBlock,
    step=st.integers(1, 10**6),
    tool=text,
    when=text,
    inputs=text,
    did=st.lists(text, max_size=3).map(tuple),
    artifacts=st.lists(artifact, max_size=3).map(tuple),
    removed=st.lists(path, max_size=2).map(tuple),
    skipped=st.lists(st.tuples(path, text), max_size=2).map(tuple),
    next_steps=st.lists(text, max_size=2).map(tuple),
    evaluation=text,
)


@given(blocks)
def test_a_block_reads_back_as_it_was(block: StepBlock) -> None:
    """Whatever a block holds, reading it back gives the same block."""
    assert parse(render(block)) == block


@given(blocks)
def test_a_block_is_one_heading_and_one_last_line(block: StepBlock) -> None:
    """A block has one heading, its first line, and one evaluation, its last: names cannot forge either."""
    lines = render(block).split("\n")
    assert [i for i, line in enumerate(lines) if line.startswith("#")] == [0]
    assert [i for i, line in enumerate(lines) if line.startswith("**Evaluation")] == [len(lines) - 2]


def test_a_block_looks_like_the_contract() -> None:
    """The block has the contract's lines in the contract's order."""
    done = StepDone(
        step=3,
        tool="sandbox.exec",
        name="kpis",
        inputs={"code": "df.to_parquet()", "timeout_s": 30},
        did=("Merged spend with lead counts per source", "Saved 6 rows"),
        artifacts=(Artifact(path="kpis.parquet", size=5120, sha256="ab" * 32),),  # pyright: ignore[reportArgumentType]
        removed=("old.csv",),
        skipped={"pipe": "it is a fifo"},
        next_steps=("Forecast 12 months",),
    )
    evaluation = StepEvaluated(
        step=3,
        verdict="PASS",
        completeness=1,
        correctness=0.8,
        evidence=0.7,
        hygiene=1,
        aggregate=0.875,
        critique="fine",
    )
    assert render(block_of(done, "2026-11-18T09:00:00.123456Z", evaluation)) == (
        "## Step 3: sandbox.exec (kpis)\n"
        "**When:** 2026-11-18T09:00:00Z\n"
        '**Inputs:** code="df.to_parquet()", timeout_s=30\n'
        "**What I did:**\n"
        "- Merged spend with lead counts per source\n"
        "- Saved 6 rows\n"
        "**Artifacts:**\n"
        f"- kpis.parquet: `tmp/kpis.parquet` (size=5120, sha256={'ab' * 32})\n"
        "- removed `tmp/old.csv`\n"
        "- skipped `tmp/pipe` (it is a fifo)\n"
        "**Next steps:**\n"
        "- [ ] Forecast 12 months\n"
        "**Evaluation (by Evaluator):** PASS 0.88"
        " — completeness=1.00, correctness=0.80, evidence=0.70, hygiene=1.00 — fine\n"
    )


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "## Step x: tool\n",
        "## Step 1: tool\n",
        "## Step 1: tool\nstray\n",
        "## Step 1: tool\n**When:** now\n**Inputs:** none\n**What I did:** none\n**Artifacts:** none\n",
    ],
)
def test_what_is_no_block_is_refused(broken: str) -> None:
    """Text that is no Step Block is refused with the reason."""
    with pytest.raises(ValueError, match=r"Step Block"):
        parse(broken)
