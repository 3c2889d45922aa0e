"""What the Prefect UI shows of a run beside its states and logs: CEL, scores, KPIs, deliverables."""

import json
import logging
from collections.abc import Iterator

import httpx
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException

from recipes.recipe import Recipe
from run_record import RunRecordError
from run_record.state import RunState
from tasks.work import Work

_LONGEST_CEL = 400_000
_NUMBERS = "numbers.json"
_log = logging.getLogger(__name__)
Row = dict[str, str | float | int | None]


def name_flow_run(name: str) -> None:
    """Call the flow run after its run."""
    context = FlowRunContext.get()
    if context and context.flow_run:
        try:
            with get_client(sync_client=True) as client:
                client.update_flow_run(context.flow_run.id, name=name)
        except (httpx.HTTPError, PrefectException) as error:
            _log.warning("the flow run could not be named %s: %s", name, error)


def publish(work: Work, recipe: Recipe) -> None:
    """Show the run in the UI. It is a copy: when the server cannot take it, nothing is lost."""
    record = work.run.record
    try:
        cel = (record.folder / "CEL.md").read_text()
        create_markdown_artifact(_cut(cel), key=f"{recipe.name}-cel", description="The run's journal")
        create_table_artifact(list(_scores(record.state)), key=f"{recipe.name}-scores", description="Scores by step")
        if numbers := _numbers(work):
            create_table_artifact(numbers, key=f"{recipe.name}-kpis", description="Key figures")
        files = list(_deliverables(work, recipe))
        create_table_artifact(files, key=f"{recipe.name}-deliverables", description="What was made")
    except (httpx.HTTPError, PrefectException, OSError, RunRecordError) as error:
        _log.warning("the run %s could not be shown in the Prefect UI: %s", work.run.run_id, error)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CEL else f"{text[:_LONGEST_CEL]}\n\n… the rest is in the run's CEL.md\n"


def _scores(state: RunState) -> Iterator[Row]:
    for step in state.steps.values():
        judged = step.evaluation
        yield {
            "step": step.done.step,
            "name": step.done.name or step.done.tool,
            "result": "cached" if step.done.cached else "fresh" if step.done.ok else "failed",
            "seconds": round(step.done.seconds, 3),
            "verdict": judged.verdict if judged else "PENDING",
            "score": round(judged.aggregate, 2) if judged and judged.aggregate is not None else None,
            "critique": judged.critique if judged else "",
        }


def _numbers(work: Work) -> list[Row]:
    """The run's numbers.json as a table, when it has one: name, value, unit, and where it comes from."""
    file = work.run.record.state.files.get(_NUMBERS)
    if file is None or file.artifact.size > _LONGEST_CEL:
        return []
    try:
        numbers = json.loads(work.run.objects.read(file.artifact.sha256))
        rows = numbers.items() if isinstance(numbers, dict) else [(each["name"], each) for each in numbers]
        return [
            {"name": str(name), **{k: _flat(v) for k, v in dict(each).items() if k != "name"}} for name, each in rows
        ]
    except (ValueError, TypeError, KeyError):
        return []  # the Evaluator has said what is wrong with it


def _flat(value: object) -> str | float | int | None:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)


def _deliverables(work: Work, recipe: Recipe) -> Iterator[Row]:
    """A page may not lead to a file of this machine, so each is named by its path."""
    files = work.run.record.state.files
    for path in recipe.deliverables:
        if file := files.get(path):
            place = str(work.run.workspace.root / path)
            yield {"deliverable": place, "bytes": file.artifact.size, "sha256": file.artifact.sha256}
