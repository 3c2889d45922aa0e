"""What stands in CEL.md besides Step Blocks: its head, notes, late evaluations, the final summary."""

from run_record.cel.step_block import EVALUATION, PENDING, artifact_line, evaluation_text, values_text
from run_record.clock import to_the_second
from run_record.facts import NoteAdded, RunClosed, RunOpened, StepEvaluated
from run_record.plain_text import markdown
from run_record.state import RunState


def header(opened: RunOpened, at: str) -> str:
    recipe = f"**Recipe:** {markdown(opened.recipe)}\n" if opened.recipe else ""
    parameters = f"**Parameters:** {markdown(values_text(opened.parameters))}\n" if opened.parameters else ""
    deliverables = f"**To deliver:** {markdown(', '.join(opened.deliverables))}\n" if opened.deliverables else ""
    basis = f"as of {markdown(opened.as_of)}, seed {opened.seed}"
    return (
        "# Context Engineering Log (CEL)\n\n"
        f"**Run:** {opened.run_id}\n"
        f"**Objective:** {markdown(opened.objective) or 'not given'}\n"
        f"{recipe}{parameters}{deliverables}"
        f"**Opened:** {to_the_second(at)} by {markdown(opened.by)}, {basis}\n"
    )


def note(added: NoteAdded, at: str) -> str:
    lines = "".join(f"> {markdown(line)}\n" for line in added.text.split("\n"))
    return f"\n## Note\n**When:** {to_the_second(at)}\n**By:** {markdown(added.by)}\n\n{lines}"


def late_evaluation(evaluation: StepEvaluated, at: str) -> str:
    """A verdict for a step whose block already has one and is no longer the last."""
    verdict = markdown(evaluation_text(evaluation))
    return f"\n## Evaluation of step {evaluation.step}\n**When:** {to_the_second(at)}\n{EVALUATION} {verdict}\n"


def summary(closed: RunClosed, at: str, state: RunState) -> str:
    verdicts = [step.evaluation.verdict if step.evaluation else PENDING for step in state.steps.values()]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    files = "".join(f"- {artifact_line(state.files[path].artifact)}\n" for path in sorted(state.files))
    return (
        f"\n## Summary\n**When:** {to_the_second(at)}\n**State:** {closed.state}\n"
        + (f"**Reason:** {markdown(closed.reason)}\n" if closed.reason else "")
        + f"**Steps:** {len(state.steps)}{f' ({counts})' if counts else ''}\n"
        + (f"**Artifacts:**\n{files}" if files else "**Artifacts:** none\n")
    )
