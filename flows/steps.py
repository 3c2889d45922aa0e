"""The steps of a run, made from its recipe: what each asks, what is expected of it, and what its result depends on."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from flows.expectations import expectations
from flows.request import Request
from recipes.recipe import RecipeCell
from recipes.run_reads import RunReads
from recipes.searches import Query
from run_record import Sha256
from tasks.step import Step, digest, normalised
from three_tools.after_call import Recorded
from three_tools.contracts import BrowserSearchResult
from three_tools.evaluator import Expectations, ExpectedFile

EVIDENCE = "evidence.json"
NOTEBOOK = "notebook.ipynb"
_BASIS = 1
"""Changes when results kept by an earlier version of this program are not to be used any more."""


def upload(name: str, path: str, source: Path) -> Step:
    """A file of this machine as a file of the run."""
    return Step(name=name, tool="tmp.write", arguments={"path": path}, source=source)


def search(query: Query, request: Request, state: str, now_s: float) -> Step:
    """A search. What it found stays good while the documents are the same; on the web, for so many hours."""
    arguments: dict[str, JsonValue] = {
        "query": query.query,
        "top_k": query.top_k,
        "include_page": query.include_page,
        "allow_domains": list(query.allow_domains),
        **({"date_range": query.date_range} if query.date_range else {}),
    }
    freshness = state or f"until {int(now_s // (query.freshness_h * 3600))} x {query.freshness_h:g} h"
    basis = digest(
        {"format": _BASIS, "tool": "browser.search", "arguments": arguments, "as_of": request.as_of, "at": freshness}
    )
    return Step(
        name=f"search {query.name}",
        tool="browser.search",
        arguments=arguments,
        timeout_s=query.timeout_s,
        basis=basis,
    )


def evidence(found: Iterable[tuple[Query, Recorded]]) -> Step:
    """What all searches brought, in one file, in the order of the recipe."""
    searches: list[JsonValue] = []
    results: list[JsonValue] = []
    for query, recorded in found:
        answer = recorded.outcome.result
        if isinstance(answer, BrowserSearchResult):
            searches.append({"name": query.name, "query": query.query, "citations_id": answer.citations_id})
            results += [{"search": query.name, **hit.model_dump(mode="json")} for hit in answer.results]
    text = json.dumps({"searches": searches, "results": results}, ensure_ascii=False, indent=1) + "\n"
    return Step(name="save evidence", tool="tmp.write", arguments={"path": EVIDENCE, "text": text})


class CellSteps:
    """Makes the steps of a run's cells."""

    def __init__(self, request: Request, environment: str) -> None:
        self._request = request
        self._dataflow = request.dataflow
        self._environment = environment
        self._known = tuple(_known_files(request))

    def step(self, each: RecipeCell, variables: Mapping[str, Sha256]) -> Step:
        """Its basis is its code, the variables of earlier cells that it uses, and what it reads of the run."""
        basis = digest(
            {
                "format": _BASIS,
                "tool": "sandbox.exec",
                "code": normalised(each.source),
                "variables": {name: variables[name] for name in self._dataflow.needs(each.name)},
                "environment": self._environment,
                "random": f"{self._request.seed} {each.name}",
                "run": _values(self._request, self._dataflow.run_reads(each.name)),
            }
        )
        return Step(
            name=each.name,
            tool="sandbox.exec",
            arguments={"code": each.source, "timeout_s": each.timeout_s},
            expects=expectations(each),
            next_steps=_next(self._request, each.name),
            reads=(*self._known, *each.reads),
            basis=basis,
        )


def notebook(content: bytes) -> Step:
    """The recipe's notebook with the outputs of this run."""
    return Step(name="save notebook", tool="tmp.write", arguments={"path": NOTEBOOK, "text": content.decode()})


def deliverables(request: Request) -> Step:
    """A look at what is to be delivered: the Evaluator opens each of them."""
    wanted = tuple(ExpectedFile(path=path) for path in request.recipe.deliverables)
    return Step(
        name="list deliverables",
        tool="tmp.list",
        arguments={
            "prefix": "artifacts/" if all(p.startswith("artifacts/") for p in request.recipe.deliverables) else ""
        },
        expects=Expectations(files=wanted),
    )


def _values(request: Request, reads: RunReads) -> dict[str, JsonValue]:
    """The values of what a cell reads of the run."""
    everything: dict[str, JsonValue] = {
        "as_of": request.as_of,
        "objective": request.objective,
        "seed": request.seed,
        "inputs": {**request.inputs()},
    }
    wanted = asdict(reads)
    names = request.parameters if reads.everything or reads.all_parameters else sorted(reads.parameters)
    parameters: dict[str, JsonValue] = {name: request.parameters.get(name) for name in names}
    values = {name: value for name, value in everything.items() if reads.everything or wanted[name]}
    return {**values, "parameters": parameters}


def _known_files(request: Request) -> Iterable[str]:
    """Files that need no declaration: inputs, templates, evidence, and what cells are expected to make."""
    yield from (*request.files, *request.recipe.templates, EVIDENCE)
    for each in request.recipe.cells:
        yield from each.makes


def _next(request: Request, name: str) -> tuple[str, ...]:
    names = [each.name for each in request.recipe.cells]
    following = names[names.index(name) + 1 :]
    return tuple(following[:1]) or tuple(f"deliver {path}" for path in request.recipe.deliverables)


def count(request: Request) -> int:
    """How many steps a run has when nothing goes wrong."""
    queries = len(request.queries())
    files = len(request.files) + len(request.recipe.templates)
    return files + queries + bool(queries) + len(request.recipe.cells) + 2
