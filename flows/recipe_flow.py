"""The one frame in which every recipe runs as a Prefect flow."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, cast

from prefect import Flow, flow
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel, ConfigDict, Field, create_model

from flows import steps
from flows.publish import Progress, name_flow_run, publish
from flows.release import release, sweep
from flows.request import Request, make_request
from flows.verdicts import require_all_judged, require_deliverables, require_pass
from flows.workshop import Workshop, workshop
from recipes.catalog import Catalog
from recipes.dataflow import Dataflow
from recipes.notebook import executed
from recipes.parameters import parameter_model
from recipes.prelude import prelude
from recipes.recipe import Recipe, RecipeCell
from tasks.browser_search import browser_search
from tasks.call import Patience, call, call_all
from tasks.kernel import Kernel
from tasks.sandbox_exec import sandbox_exec
from tasks.step import Step
from tasks.step_cache import StepCache
from tasks.tmp_files import tmp_files
from tasks.work import Work, at_work
from three_tools.after_call import Recorded
from three_tools.policy import AgentDescriptor, Context
from three_tools.run import open_run

_GRACE_S = 60.0
"""How much longer than its cell a task may take before Prefect ends it: replaying and recording take time too."""
_SEARCHES_AT_ONCE = 4


def standard_flow(name: str) -> Flow[..., str]:
    """The flow of a recipe of ours."""
    return recipe_flow(Catalog().find(name))


def recipe_flow(recipe: Recipe) -> Flow[..., str]:
    """Any recipe as a flow; its parameters and files are a typed form in the Prefect UI. It gives the run's id."""

    def answer(  # noqa: PLR0913, PLR0917  (these are the fields of the form)
        objective: str = recipe.objective,
        parameters: Any = None,  # Any: the model below
        files: Any = None,  # Any: likewise
        as_of: date | None = None,
        seed: int = 0,
        sample: bool = False,
        refresh: bool = False,
    ) -> str:
        request = make_request(
            recipe,
            objective=objective,
            parameters=_given(parameters),
            files={name: Path(str(path)) for name, path in _given(files).items()},
            as_of=as_of.isoformat() if as_of else None,
            seed=seed,
            is_sample=sample,
            is_refreshing=refresh,
        )
        return _answer(request, workshop())

    answer.__name__ = recipe.name.replace("-", "_")
    answer.__doc__ = recipe.purpose
    answer.__annotations__ |= {"parameters": parameter_model(recipe) | None, "files": _file_model(recipe) | None}
    make: Any = flow(  # Any: Prefect's overloads know only functions that are written out
        name=recipe.name,
        description=recipe.purpose,
        task_runner=cast("Any", ThreadPoolTaskRunner(max_workers=_SEARCHES_AT_ONCE)),  # Any: not typed by Prefect
        persist_result=False,
        on_crashed=[release],
        on_cancellation=[release],
    )
    return make(answer)


def _answer(request: Request, shop: Workshop) -> str:
    sweep(shop)
    with _opened(request, shop) as frame:
        frame.upload()
        frame.search()
        try:
            for cell in request.recipe.cells:
                frame.run_cell(cell)
        finally:
            frame.save_notebook()
        frame.verify()
        return frame.work.run.run_id


@contextmanager
def _opened(request: Request, shop: Workshop) -> Generator["_Frame"]:
    """A run from its beginning to its end, with its sandbox; whatever happens, both are closed."""
    recipe, equipment = request.recipe, shop.equip(request.documents)
    caller = Context(AgentDescriptor(kind="recipe", name=recipe.name), user_id=shop.author)
    with open_run(shop.home, equipment, request.question(shop.author), caller, who=f"the recipe {recipe.name}") as run:
        name_flow_run(f"{recipe.name} {run.run_id}")
        shop.watch.opened(run, recipe)
        dataflow = Dataflow(recipe.cells)
        told = prelude(request.parameters, request.objective, request.as_of, request.seed, request.inputs())
        cache = StepCache(
            shop.home.root / "cache",
            lambda text: run.record.note("the cache", text),
            is_refreshing=request.is_refreshing,
        )
        kernel = Kernel(run, dataflow, {cell.name: cell.source for cell in recipe.cells}, told)
        with at_work(Work(run, cache, kernel, shop.watch.ended)) as work:
            progress = Progress(recipe, steps.count(request))
            try:
                yield _Frame(request, shop, work, dataflow, progress)
            finally:
                publish(run, recipe, progress)


class _Frame:
    """The steps of one run, in their order."""

    def __init__(self, request: Request, shop: Workshop, work: Work, dataflow: Dataflow, progress: Progress) -> None:
        self.request = request
        self.work = work
        self._shop = shop
        self._dataflow = dataflow
        self._progress = progress

    def upload(self) -> None:
        """The inputs and the recipe's templates become files of the run."""
        recipe = self.request.recipe
        for name, path in self.request.files.items():
            self._do(tmp_files, steps.upload(f"input {name}", name, path))
        for name, path in recipe.templates.items():
            self._do(tmp_files, steps.upload(f"copy {name.removeprefix('templates/')}", name, path))

    def search(self) -> None:
        """All searches at once, then what they found in one file."""
        queries = self.request.queries()
        if not queries:
            return
        state, now_s = self.work.run.search.state(), time.time()
        searches = [steps.search(query, self.request, state, now_s) for query in queries]
        for step in searches:
            self._shop.watch.began(step)
        found = call_all(self.work, browser_search, searches)
        for step, recorded in zip(searches, found, strict=True):
            require_pass(self.request.recipe, step, recorded)
        self._do(tmp_files, steps.evidence(zip(queries, found, strict=True)))

    def run_cell(self, cell: RecipeCell) -> None:
        environment = self.work.run.backend.digest
        step = steps.cell(self.request, cell, self._dataflow, self.work.keys, environment)
        patience = Patience(cell.retries, cell.retry_delay_s, cell.timeout_s + _GRACE_S)
        self._do(sandbox_exec, step, patience)

    def save_notebook(self) -> None:
        """Also of a run that failed: its error stands where it happened."""
        cells, outputs = self.request.recipe.notebook, self.work.outputs
        if any(cell.name in outputs for cell in cells):
            counts = {cell.name: number for number, cell in enumerate(self.request.recipe.cells, 1)}
            shown = executed(cells, outputs, {name: counts[name] for name in outputs if name in counts})
            self._do(tmp_files, steps.notebook(shown))

    def verify(self) -> None:
        """Nothing is pending, nothing that was promised is missing, and the Evaluator has nothing against it."""
        require_deliverables(self.work.run, self.request.recipe)
        if self.request.recipe.deliverables:
            self._do(tmp_files, steps.deliverables(self.request))
        require_all_judged(self.work.run)

    def _do(self, task: Any, step: Step, patience: Patience | None = None) -> Recorded:  # Any: a task
        self._shop.watch.began(step)
        recorded = call(self.work, task, step, patience)
        self._progress.step()
        require_pass(self.request.recipe, step, recorded)
        return recorded


def _given(model: BaseModel | Mapping[str, Any] | None) -> dict[str, Any]:  # Any: what the form's model checked
    """What was filled in; what was not has its default from the recipe."""
    values = model.model_dump(exclude_unset=True) if isinstance(model, BaseModel) else dict(model or {})
    return {name: value for name, value in values.items() if value is not None}


def _file_model(recipe: Recipe) -> type[BaseModel]:
    """A form with a path for each input."""
    fields: dict[str, Any] = {  # Any: what create_model takes
        name: (str | None, Field(default=None, title=name, description=f"{each.description} A path where it runs."))
        for name, each in recipe.inputs.items()
    }
    return create_model("Files", __config__=ConfigDict(extra="forbid"), **fields)
