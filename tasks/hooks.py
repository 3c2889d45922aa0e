"""Post-task hooks: what follows a step's end, whether it was run, taken from the cache or failed for good."""

from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext

from sandbox import HostIsGone
from tasks.errors import StepFailed
from tasks.step import Step
from tasks.work import work_of


def record_and_judge(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> None:  # noqa: ARG001  (Prefect's names)
    """Append the step to CEL and have it judged.

    Prefect swallows what a hook raises: whoever called the task asks for the verdict, and finds out.
    """
    context = TaskRunContext.get()
    if context is not None:
        step: Step = context.parameters["step"]
        work_of(context.parameters["run_id"]).end(step, state)


def is_worth_retrying(task: Task[..., Any], task_run: TaskRun, state: State[Any]) -> bool:
    """As often as the recipe says, but not when the answer would be the same; once more when the sandbox has died."""
    error = state.data
    if isinstance(error, HostIsGone):
        return True
    return task_run.run_count < task.retries and not (isinstance(error, StepFailed) and error.is_final)
