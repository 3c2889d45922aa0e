"""What the Prefect UI shows of a run beside its states and logs: progress, CEL, scores, key figures, deliverables."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import cast
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterName,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.states import Crashed
from pydantic import JsonValue, TypeAdapter, ValidationError

from recipes.recipe import Recipe
from run_record import RunId, RunRecord
from run_record.state import RunState
from three_tools.after_call import Recorded
from three_tools.run import Run

_LONGEST_CEL = 400_000
_NUMBERS = "numbers.json"
_NUMBER_LIST = TypeAdapter(dict[str, dict[str, JsonValue]])
_AT_ONCE = 4
_SELDOM_S = 2.0
_PATIENCE_S = 2.0
_SERVER_TROUBLE = (httpx.HTTPError, PrefectException, OSError)
_log = logging.getLogger(__name__)
Row = dict[str, str | float | int | None]


class Progress:
    """How far a run is, as the UI shows it: not told more often than every two seconds."""

    def __init__(self, recipe: Recipe, steps: int) -> None:
        self._key = artifact_key(recipe.name, "progress")
        self._steps = steps
        self._done = 0
        self._told_s = time.monotonic()
        self._artifact: UUID | None = None

    def step(self) -> None:
        self._done += 1
        if time.monotonic() - self._told_s > _SELDOM_S:
            self._tell(min(100.0 * self._done / self._steps, 99.0))

    def end(self) -> None:
        self._tell(100.0)

    def _tell(self, percent: float) -> None:
        self._told_s = time.monotonic()
        with suppress(*_SERVER_TROUBLE):  # it is not the run
            if self._artifact is None:
                self._artifact = cast("UUID", create_progress_artifact(percent, self._key, "Steps that are done"))
            else:
                update_progress_artifact(self._artifact, progress=percent)


def name_flow_run(name: str) -> None:
    """Call the flow run after its run."""
    context = FlowRunContext.get()
    if context and context.flow_run:
        try:
            with get_client(sync_client=True) as client:
                client.update_flow_run(context.flow_run.id, name=name)
        except _SERVER_TROUBLE as error:
            _log.warning("the flow run could not be named %s: %s", name, error)


def flow_run_name(recipe: str, run_id: RunId) -> str:
    return f"{recipe} {run_id}"


def show_crashed(name: str) -> None:
    """Have a flow run end whose process died before it could say so, and which no worker looks after."""
    if not _answers():
        return
    at_work = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.CANCELLING])
    wanted = FlowRunFilter(name=FlowRunFilterName(any_=[name]), state=FlowRunFilterState(type=at_work))
    try:
        with get_client(sync_client=True) as client:
            for flow_run in client.read_flow_runs(flow_run_filter=wanted):
                crashed = Crashed(message="the process that ran it ended before it did")
                client.set_flow_run_state(flow_run.id, crashed, force=True)
    except _SERVER_TROUBLE as error:
        _log.warning("Prefect could not be told that the flow run %s has crashed: %s", name, error)


def log_step(name: str, recorded: Recorded) -> None:
    """What became of a step, as a line of the flow run's log."""
    done, judged = recorded.step, recorded.evaluation
    how = "taken over" if done and done.cached else "done" if recorded.outcome.ok else "failed"
    verdict = f"{judged.verdict} {judged.aggregate:.2f}" if judged and judged.aggregate is not None else "not judged"
    get_run_logger().info("%s: %s, %s: %s", name, how, verdict, judged.critique if judged else "")


def publish(run: Run, recipe: Recipe, progress: Progress) -> None:
    """Show the run in the UI. It is a copy: when the server cannot take it, nothing is lost."""
    if not _answers():
        _log.warning("Prefect's server does not answer: the run %s is not shown there", run.run_id)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        shown = [pool.submit(copy_context().run, show) for show in (progress.end, *_shows(run, recipe))]
    for future in shown:
        try:
            future.result()
        except _SERVER_TROUBLE as error:
            _log.warning("the run %s could not be shown in the Prefect UI: %s", run.run_id, error)


def _answers() -> bool:
    """Asked once: Prefect's client would wait half a minute for each thing that it cannot tell a dead server."""
    try:
        url = f"{PREFECT_API_URL.value()}/health"
        # For plain HTTP, reading the system's certificates would take longer than asking.
        return httpx.get(url, timeout=_PATIENCE_S, verify=url.startswith("https:")).is_success
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _shows(run: Run, recipe: Recipe) -> Iterator[Callable[[], object]]:
    """Each artifact, ready to be made."""
    name, record = recipe.name, run.record
    yield partial(
        create_markdown_artifact,
        _cel(record),
        key=artifact_key(name, "cel"),
        description=f"The Context Engineering Log of the run {run.run_id}",
    )
    scores = list(_scores(record.state))
    yield partial(
        create_table_artifact,
        scores,
        key=artifact_key(name, "scores"),
        description=f"Verdict and scores of each step of the run {run.run_id}",
    )
    if numbers := _numbers(run):
        yield partial(
            create_table_artifact,
            numbers,
            key=artifact_key(name, "kpis"),
            description=f"Key figures of the run {run.run_id}",
        )
    files = record.state.files
    for path in (path for path in recipe.deliverables if path in files):
        place, artifact = run.workspace.root / path, files[path].artifact
        said = f"{artifact.size:,} bytes, sha256 {artifact.sha256}; on the machine that ran it: {place}"
        yield partial(create_link_artifact, f"file://{place}", path, artifact_key(name, path), said)


def artifact_key(recipe: str, of: str) -> str:
    """Lower-case letters, digits and dashes, as Prefect wants them."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in f"{recipe}-{of}".lower())


def _cel(record: RunRecord) -> str:
    """CEL.md with each of its fields as a paragraph: Markdown would run them together, and into the lists before."""
    text = (record.folder / "CEL.md").read_text().replace("\n**", "\n\n**")
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


def _numbers(run: Run) -> list[Row]:
    """The run's numbers.json as a table, when it has one: name, value, unit, and where it comes from."""
    file = run.record.state.files.get(_NUMBERS)
    if file is None or file.artifact.size > _LONGEST_CEL:
        return []
    try:
        numbers = _NUMBER_LIST.validate_json(run.objects.read(file.artifact.sha256))
    except ValidationError:
        return []  # the Evaluator has said what is wrong with it
    return [{"name": name, **{field: _flat(value) for field, value in each.items()}} for name, each in numbers.items()]


def _flat(value: JsonValue) -> str | float | int | None:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
