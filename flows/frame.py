"""A run of a recipe from its opening to its close, and the steps in between."""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from flows import steps
from flows.cancellation import heeding_cancellation
from flows.publish import Progress, flow_run_name, log_step, name_flow_run, publish
from flows.request import Request
from flows.verdicts import require_all_judged, require_deliverables, require_pass
from flows.workshop import Workshop
from recipes.notebook import executed, failed_line
from recipes.prelude import prelude
from recipes.recipe import RecipeCell
from recipes.recipe_file import NOTEBOOK
from run_record import RunId, RunRecordError
from sandbox import Cell
from tasks.browser_search import browser_search
from tasks.call import Patience, StepTask, call, call_all
from tasks.errors import StepFailed, TaskError
from tasks.kernel import Kernel
from tasks.sandbox_exec import sandbox_exec
from tasks.step import Step
from tasks.step_cache import StepCache
from tasks.tmp_files import tmp_files
from tasks.work import Work, at_work
from three_tools.after_call import Recorded
from three_tools.policy import AgentDescriptor, Context
from three_tools.run import Run, open_run

_GRACE_S = 60.0
"""How much longer than its cells a task may take before Prefect ends it: recording takes time too."""


class Frame:
    """The parts of a run, in the order in which a recipe's flow calls them."""

    def __init__(self, request: Request, shop: Workshop, work: Work, progress: Progress) -> None:
        self._request = request
        self._recipe = request.recipe
        self._watch = shop.watch
        self._work = work
        self._progress = progress
        self._cell_steps = steps.CellSteps(request, work.run.backend.digest)

    @property
    def run_id(self) -> RunId:
        return self._work.run.run_id

    @property
    def is_cancelled(self) -> bool:
        return self._work.run.session.is_cancelled

    def upload(self) -> None:
        """The inputs and the recipe's templates become files of the run."""
        for name, path in self._request.files.items():
            self._do(tmp_files, steps.upload(f"input {name}", name, path))
        for name, path in self._recipe.templates.items():
            self._do(tmp_files, steps.upload(f"copy {name.removeprefix('templates/')}", name, path))

    def search(self) -> None:
        """All searches at once, then what they found in one file."""
        queries = self._request.queries()
        if not queries:
            return
        state, now_s = self._work.run.search.state(), time.time()
        searches = [steps.search(query, self._request, state, now_s) for query in queries]
        for step in searches:
            self._watch.began(step)
        patience = [Patience(query.retries, query.retry_delay_s) for query in queries]
        try:
            found = call_all(self._work, browser_search, list(zip(searches, patience, strict=True)))
        finally:
            if self._work.run.search.state() != state:  # the documents changed meanwhile: who knows which were found
                for step in searches:
                    self._work.forget(step)
        for step, recorded in zip(searches, found, strict=True):
            self._went(step, recorded)
        self._do(tmp_files, steps.evidence(zip(queries, found, strict=True)))

    def run_cells(self) -> None:
        """One after another in the run's kernel; the notebook is there also when one of them fails or is stopped."""
        try:
            for cell in self._recipe.cells:
                self._run_cell(cell)
        except BaseException as error:
            is_stopped = self.is_cancelled or not isinstance(error, Exception)
            with suppress(RunRecordError, TaskError):  # what went wrong first is what is raised
                self._leave_notebook() if is_stopped else self._save_notebook()
            raise
        self._save_notebook()

    def verify(self) -> None:
        """Nothing that was promised is missing, nothing is pending, and the Evaluator has nothing against it."""
        require_deliverables(self._work.run, self._recipe)
        self._do(tmp_files, steps.deliverables(self._request))
        require_all_judged(self._work.run)

    def _run_cell(self, cell: RecipeCell) -> None:
        step = self._cell_steps.step(cell, self._work.variables)
        needed = set(self._request.dataflow.needs(cell.name))
        replays_s = sum(each.timeout_s for each in self._recipe.cells if each.name in needed)
        patience = Patience(cell.retries, cell.retry_delay_s, cell.timeout_s + replays_s + _GRACE_S)
        try:
            self._do(sandbox_exec, step, patience)
        except StepFailed as error:
            raise self._with_its_place(cell, error) from None

    def _with_its_place(self, cell: RecipeCell, error: StepFailed) -> StepFailed:
        """Where in notebook.py a cell failed, when there is no better advice."""
        line = failed_line(cell.line, self._work.outputs.get(cell.name, ()))
        if error.remedy or line is None:
            return error
        place = f"{self._recipe.folder / NOTEBOOK}, line {line}"
        return StepFailed(error.problem, f"look at {place}; {steps.NOTEBOOK} of the run has its whole traceback")

    def _save_notebook(self) -> None:
        self._do(tmp_files, steps.notebook(self._notebook()))

    def _leave_notebook(self) -> None:
        """A run that was stopped takes no step any more: the file is recorded as the run is closed."""
        self._work.run.workspace.write(steps.NOTEBOOK, self._notebook())

    def _notebook(self) -> bytes:
        shown = self._work.outputs
        counts = {cell.name: number for number, cell in enumerate(self._recipe.cells, 1) if cell.name in shown}
        return executed(self._recipe.notebook, shown, counts)

    def _do(self, task: StepTask, step: Step, patience: Patience | None = None) -> None:
        self._watch.began(step)
        self._went(step, call(self._work, task, step, patience))

    def _went(self, step: Step, recorded: Recorded) -> None:
        log_step(step.name, recorded)
        self._progress.step()
        require_pass(self._work.run, self._recipe, step, recorded)


@contextmanager
def opened(request: Request, shop: Workshop) -> Generator[Frame]:
    """A run with its sandbox; whatever happens, both are closed. One that was cancelled ends quietly."""
    recipe = request.recipe
    caller = Context(AgentDescriptor(kind="recipe", name=recipe.name), user_id=shop.author)
    question, equipment = request.question(shop.author), shop.equip(request.documents)
    with open_run(shop.home, equipment, question, caller, who=f"the recipe {recipe.name}") as run:
        name_flow_run(flow_run_name(recipe.name, run.run_id))
        shop.watch.opened(run, recipe)
        progress = Progress(recipe, steps.count(request))
        with at_work(Work(run, _cache(run, request, shop), _kernel(run, request), shop.watch.ended)) as work:
            try:
                with heeding_cancellation(run):
                    yield Frame(request, shop, work, progress)
            except StepFailed:
                if not run.session.is_cancelled:
                    raise
            finally:
                publish(run, recipe, progress)


def _cache(run: Run, request: Request, shop: Workshop) -> StepCache:
    return StepCache(
        shop.home.root / "cache",
        lambda text: run.record.note("the cache", text),
        is_refreshing=request.is_refreshing,
    )


def _kernel(run: Run, request: Request) -> Kernel:
    told = prelude(request.parameters, request.objective, request.as_of, request.seed, request.inputs())
    cells = {each.name: Cell(code=each.source, timeout_s=each.timeout_s) for each in request.recipe.cells}
    return Kernel(run, request.dataflow, cells, told)
