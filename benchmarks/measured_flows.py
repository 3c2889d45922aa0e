"""Flows to be measured, ours and bare ones. It imports Prefect: its settings must be in the environment before."""

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import INPUTS, NO_CACHE
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from flows.recipe_flow import recipe_flow
from flows.workshop import Workshop, open_for_work
from recipes.catalog import Catalog
from recipes.recipe import Recipe
from run_record import Home, RunState, read_journal
from sandbox import LocalJail
from tasks.step import Step
from three_tools.after_call import Recorded
from three_tools.run import Equipment, Run
from three_tools.search.provider import SearchProvider


@dataclass
class Laps:
    """When each cell began, and when the last one ended; follows one run of ours."""

    run: Run | None = None
    began_s: list[float] = field(default_factory=list[float])
    ended_s: float = 0.0

    def opened(self, run: Run, recipe: Recipe) -> None:  # noqa: ARG002  (a Watch's)
        self.run = run

    def began(self, step: Step) -> None:
        if step.tool == "sandbox.exec":
            self.began_s.append(time.perf_counter())

    def ended(self, step: Step, recorded: Recorded) -> None:  # noqa: ARG002  (likewise)
        if step.tool == "sandbox.exec":
            self.ended_s = time.perf_counter()

    def per_step_s(self, first: int = 0) -> float:
        """Of the steps from the first one on."""
        return (self.ended_s - self.began_s[first]) / (len(self.began_s) - first)


class Measured:
    """Runs recipes as `partner run` does, in a home of its own, and bare flows on the same server."""

    def __init__(self, folder: Path, jail: LocalJail) -> None:
        self._folder = folder
        self._home = Home(folder / "home")
        self._jail = jail
        self._bare_results = folder / "bare-results"

    def ours(self, name: str, *, refresh: bool) -> tuple[float, Laps]:
        """Seconds of one run of a recipe, every step of which must pass and be fresh, or taken over."""
        laps = Laps()
        catalog = Catalog([self._folder / "recipes"])
        equipment = Equipment(backend=lambda: self._jail, search=_no_search)
        shop = Workshop(home=self._home, catalog=catalog, equip=lambda _: equipment, author="bench", watch=laps)
        ours = recipe_flow(catalog.find(name))
        with open_for_work(shop), _quiet():
            began = time.perf_counter()
            ours(refresh=refresh)
            spent = time.perf_counter() - began
        _require(self._state(laps), is_cached=not refresh)
        return spent, laps

    def made(self, laps: Laps) -> list[Path]:
        """The files that the cells of a run have made."""
        made = [
            artifact.path for s in self._state(laps).steps.values() if s.done.source for artifact in s.done.artifacts
        ]
        return [_run(laps).workspace.root / path for path in made]

    def bare_cached(self, count: int, files: list[Path]) -> float:
        """Seconds of a flow of so many tasks, each taken from its cache, and of copying these files."""
        ready = _kept.with_options(result_storage=self._bare_results, cache_policy=INPUTS)
        target = self._folder / f"copied-{os.urandom(4).hex()}"
        target.mkdir()
        names: list[str] = []

        @flow(name="bare", persist_result=False)
        def bare() -> None:
            for number in range(count):
                state: State[Any] = ready(number, return_state=True)
                names.append(state.name or "")
            for file in files:
                shutil.copy(file, target)

        with _quiet():
            began = time.perf_counter()
            bare()
            spent = time.perf_counter() - began
        shutil.rmtree(target)
        return spent if names == ["Cached"] * count else -1.0

    def bare_fresh(self, count: int) -> float:
        """Seconds for each of so many tasks that are not cached, in a flow."""
        spent: list[float] = []

        @flow(name="bare", persist_result=False)
        def bare() -> None:
            began = time.perf_counter()
            for number in range(count):
                _plain(number)
            spent.append((time.perf_counter() - began) / count)

        with _quiet():
            bare()
        return spent[0]

    def _state(self, laps: Laps) -> RunState:
        return RunState(read_journal(_run(laps).record.folder).entries)


@task(persist_result=True, result_serializer="json", cache_result_in_memory=False)
def _kept(number: int) -> dict[str, int]:
    return {"number": number}


@task(persist_result=False, cache_policy=NO_CACHE)
def _plain(number: int) -> int:
    return number


def _quiet() -> Any:  # Any: Prefect's context
    """No heartbeat, as in `partner run`: at the end of every flow, its thread is waited for, up to a second."""
    return temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None})


def _run(laps: Laps) -> Run:
    if laps.run is None:
        raise RuntimeError("the flow has opened no run")
    return laps.run


def _require(state: RunState, *, is_cached: bool) -> None:
    for step in state.steps.values():
        verdict = step.evaluation.verdict if step.evaluation else "PENDING"
        if verdict != "PASS" or (step.done.source and step.done.cached != is_cached):
            raise RuntimeError(f"step {step.done.name} is not as it should be: {step}")


def _no_search() -> SearchProvider:
    raise NotImplementedError
