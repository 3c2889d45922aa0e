"""What a run is held to: every step judged, every deliverable there, and no verdict that stops it."""

from flows.errors import BelowThreshold, DeliverableMissing
from recipes.recipe import Recipe
from run_record import StepEvaluated
from tasks.errors import NotRecorded
from tasks.step import Step
from three_tools.after_call import Recorded
from three_tools.run import Run


def require_pass(run: Run, recipe: Recipe, step: Step, recorded: Recorded) -> None:
    """Stop at the first step that did not pass, if the recipe wants that."""
    if recipe.fail_fast and recorded.evaluation and recorded.evaluation.verdict != "PASS":
        raise _below(run, step.name, recorded.evaluation)


def require_deliverables(run: Run, recipe: Recipe) -> None:
    missing = [path for path in recipe.deliverables if path not in run.record.state.files]
    if missing:
        raise DeliverableMissing(
            f"{recipe.name} has not made {', '.join(missing)}, which recipe.toml declares as deliverables",
            "have a cell write it, or take it off the list",
        )


def require_all_judged(run: Run) -> None:
    """The last attempt of every step has a verdict, and it is PASS."""
    run.record.catch_up()
    if run.record.state.pending:
        pending = ", ".join(map(str, run.record.state.pending))
        raise NotRecorded(f"steps {pending} have no verdict", "see the log of this flow run")
    for step in run.context().incomplete:
        judged = run.record.state.step(step.number).evaluation
        if judged is not None:
            raise _below(run, step.name or str(step.number), judged)


def _below(run: Run, name: str, judged: StepEvaluated) -> BelowThreshold:
    score = "" if judged.aggregate is None else f" {judged.aggregate:.2f}"
    return BelowThreshold(
        f"step {judged.step} ({name}): {judged.verdict}{score}: {judged.critique}",
        f"see what was expected and found: partner cel {run.run_id} --at {judged.step}",
    )
