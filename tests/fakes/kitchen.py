"""Recipes written for a test, run as flows on a real Prefect server in a real sandbox."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from flows.recipe_flow import recipe_flow
from flows.watch import Watch
from flows.workshop import Workshop, open_for_work
from recipes.catalog import Catalog
from recipes.recipe import Recipe
from run_record import Home, RunId, RunState, read_journal
from sandbox import LocalJail
from tasks.step import Step
from three_tools.after_call import Recorded
from three_tools.run import Equipment, Run
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import SearchProvider

TOML = 'title = "Test"\npurpose = "Tries something."\nobjective = "Does it work?"\n'


@dataclass
class Ran:
    """A run that has ended, as its record has it."""

    folder: Path
    state: RunState
    error: BaseException | None

    @property
    def run_id(self) -> RunId:
        return self.state.opened.run_id

    @property
    def cel(self) -> str:
        return (self.folder / "CEL.md").read_text()

    @property
    def notes(self) -> list[str]:
        return [note.text for _, note in self.state.notes]

    def file(self, path: str) -> bytes:
        return (self.folder / "tmp" / path).read_bytes()

    def sha256(self, path: str) -> str:
        return self.state.files[path].artifact.sha256

    def cached(self) -> dict[str, bool]:
        """Of each cell that ended well: whether it was taken over."""
        return {s.done.name: s.done.cached for s in self.state.steps.values() if s.done.source and s.done.ok}

    def attempts(self, name: str) -> list[tuple[bool, str, str]]:
        """Each try of a step: whether it went well, why not, and the verdict."""
        steps = [s for s in self.state.steps.values() if s.done.name == name]
        return [(s.done.ok, s.done.code or s.done.cause, s.evaluation.verdict if s.evaluation else "") for s in steps]


@dataclass
class Observer:
    """Follows a run; a test may act when a step begins."""

    run_id: str = ""
    began_steps: list[str] = field(default_factory=list)
    on_opened: Any = None
    on_began: Any = None
    on_ended: Any = None

    def opened(self, run: Run, recipe: Recipe) -> None:
        self.run_id = run.run_id
        if self.on_opened:
            self.on_opened()

    def began(self, step: Step) -> None:
        self.began_steps.append(step.name)
        if self.on_began:
            self.on_began(step.name)

    def ended(self, step: Step, recorded: Recorded) -> None:
        if self.on_ended:
            self.on_ended(step.name)


class Kitchen:
    """A home, a folder of recipes, and running them."""

    def __init__(self, top: Path, jail: LocalJail) -> None:
        self.top = top
        self.jail = jail
        self.home = Home(top / "home")
        self.recipes = top / "recipes"
        self.web: SearchProvider | None = None
        """Where searches go; when it is nowhere, into the documents."""

    def write(
        self, name: str, cells: Mapping[str, str], toml: str = "", files: Mapping[str, str] | None = None
    ) -> Path:
        """A recipe of these cells; `toml` is what recipe.toml says beside title, purpose and objective."""
        folder = self.recipes / name
        folder.mkdir(parents=True, exist_ok=True)
        head = "" if "deliverables" in toml else 'deliverables = ["notebook.ipynb"]\n'
        (folder / "recipe.toml").write_text(f"{TOML}{head}{toml}\n")
        (folder / "notebook.py").write_text("\n".join(f"# %% {cell}\n{code}\n" for cell, code in cells.items()))
        for path, text in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def workshop(self, watch: Watch, jail: LocalJail | None = None) -> Workshop:
        def equip(documents: Path | None) -> Equipment:
            folder = documents or self.top / "documents"
            index = self.top / "home" / "search" / "index.sqlite"
            return Equipment(
                backend=lambda: jail or self.jail, search=lambda: self.web or LocalFolderSearch(folder, index)
            )

        return Workshop(home=self.home, catalog=Catalog([self.recipes]), equip=equip, author="anna", watch=watch)

    def run(self, name: str, watch: Observer | None = None, jail: LocalJail | None = None, **asked: Any) -> Ran:
        """Run it; what it raises is in the answer, when there is a run."""
        watch = watch or Observer()
        shop = self.workshop(watch, jail)
        asked["files"] = {key: str(value) for key, value in asked.get("files", {}).items()}
        if "as_of" in asked:
            asked["as_of"] = date.fromisoformat(asked["as_of"])
        error: BaseException | None = None
        try:
            with open_for_work(shop):
                recipe_flow(shop.catalog.find(name))(**asked)
        except BaseException as raised:
            if not watch.run_id:
                raise
            error = raised
        return self.ran(watch.run_id, error)

    def run_at_once(self, name: str, times: int) -> list[Ran]:
        """The same run several times side by side."""
        found: list[Ran] = []
        import contextvars

        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(lambda: found.append(self.run(name)),))
            for _ in range(times)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def ran(self, run_id: str, error: BaseException | None = None) -> Ran:
        folder = self.home.folder(RunId(run_id))
        return Ran(folder, RunState(read_journal(folder).entries), error)

    def kept(self) -> list[Path]:
        """The files in which the cache keeps results of cells."""
        return sorted(path for path in (self.top / "home" / "cache" / "results").glob("*") if _is_cell(path))


def _is_cell(path: Path) -> bool:
    try:
        return json.loads(json.loads(json.loads(path.read_bytes())["result"]))["tool"] == "sandbox.exec"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def as_json(content: bytes) -> Any:
    return json.loads(content)
