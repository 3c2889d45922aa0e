"""The tool sandbox.exec as a Prefect task."""

from prefect import task

from run_record import RunId, Sha256
from tasks.hooks import is_worth_retrying, record_and_judge
from tasks.step import Step
from tasks.work import work_of


@task(
    name="sandbox.exec",
    task_run_name="{step.name}",
    persist_result=True,
    result_serializer="json",
    cache_result_in_memory=False,
    retry_condition_fn=is_worth_retrying,
    on_completion=[record_and_judge],
    on_failure=[record_and_judge],
)
def sandbox_exec(run_id: RunId, step: Step, key: Sha256 | None) -> str:
    """Run a cell of a recipe in the run's kernel."""
    return work_of(run_id).attempt(step, key).model_dump_json()
