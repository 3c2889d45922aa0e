"""A recipe as a flow: its steps in order, each judged; what it delivers; what it is held to."""

import json
import shutil
import socket
from itertools import pairwise
from typing import Any

import nbformat
import pytest
from prefect.client.orchestration import get_client

from fakes.kitchen import Kitchen, Observer, as_json
from flows.errors import BelowThreshold, DeliverableMissing
from recipes.catalog import Catalog
from recipes.errors import BadInput, BadParameter, RecipeInvalid
from tasks.errors import StepFailed
from three_tools.search.tavily import TavilySearch

CELLS = {
    "load": 'import pandas as pd\ntable = pd.read_csv("data.csv")\ntable.to_parquet("table.parquet")\nprint("loaded")',
    "report": (
        'import os\nimport pandas as pd\nfrom recipes.kit import run\nos.makedirs("artifacts", exist_ok=True)\n'
        'total = pd.read_parquet("table.parquet").amount.sum() * run.parameters.factor\n'
        'open("artifacts/report.txt", "w").write(f"total {total} on {run.as_of}")\ntotal'
    ),
}
TOML = """
deliverables = ["artifacts/report.txt"]
[parameters.factor]
type = "integer"
default = 2
[inputs.data]
file = "data.csv"
columns = { amount = "number" }
sample = "data.csv"
[cells.load]
expects.files = [{ path = "table.parquet", min_rows = 2 }]
[cells.report]
expects.files = [{ path = "artifacts/report.txt" }]
"""
DATA = {"sample_data/data.csv": "amount\n1\n2\n"}


def test_a_recipe_is_answered_from_end_to_end(kitchen: Kitchen) -> None:
    """Inputs, cells, notebook and a look at the deliverables are steps in this order, all of them judged PASS."""
    kitchen.write("sums", CELLS, TOML, DATA)
    ran = kitchen.run("sums", sample=True, as_of="2026-03-31")
    assert ran.error is None
    steps = [(s.done.name, s.evaluation.verdict if s.evaluation else "") for s in ran.state.steps.values()]
    names = ["input data.csv", "load", "report", "save notebook", "list deliverables"]
    assert steps == [(name, "PASS") for name in names]
    assert ran.file("artifacts/report.txt") == b"total 6 on 2026-03-31"
    assert ran.state.name == "done"
    assert ran.state.opened.parameters == {"factor": 2}
    assert ran.cel.count("**Evaluation (by Evaluator):** PASS") == 5


def test_every_run_leaves_its_notebook(kitchen: Kitchen) -> None:
    """notebook.ipynb is a notebook with each cell's outputs; of a run that failed, with its error."""
    kitchen.write("sums", CELLS, TOML, DATA)
    notebook = nbformat.reads(kitchen.run("sums", sample=True).file("notebook.ipynb").decode(), as_version=4)
    nbformat.validate(notebook)
    assert [cell.outputs[0].output_type for cell in notebook.cells] == ["stream", "execute_result"]
    kitchen.write("fails", {"first": "print(1)", "second": "1 / 0"})
    failed = kitchen.run("fails")
    notebook = nbformat.reads(failed.file("notebook.ipynb").decode(), as_version=4)
    assert notebook.cells[1].outputs[-1].ename == "ZeroDivisionError"


def test_the_flow_run_is_named_after_the_run_and_shows_it(kitchen: Kitchen) -> None:
    """In Prefect the flow run carries the run's id, and CEL, scores and deliverables are artifacts of it."""
    kitchen.write("sums", CELLS, TOML, DATA)
    ran = kitchen.run("sums", sample=True)
    with get_client(sync_client=True) as client:
        named = {"flow_runs": {"name": {"any_": [f"sums {ran.run_id}"]}}}
        (flow_run,) = client._client.post("/flow_runs/filter", json=named).json()
        of_it = {"artifacts": {"flow_run_id": {"any_": [flow_run["id"]]}}}
        artifacts = client._client.post("/artifacts/filter", json=of_it).json()
    assert flow_run["state_name"] == "Completed"
    shown = {artifact["key"]: artifact for artifact in artifacts if artifact["type"] != "progress"}
    assert shown.keys() == {"sums-cel", "sums-scores", "sums-artifacts-report-txt"}
    assert f"**Run:** {ran.run_id}" in shown["sums-cel"]["data"]
    fields = [line for line in shown["sums-cel"]["data"].splitlines() if not line.startswith("- ")]
    assert [line for before, line in pairwise(fields) if before and line.startswith("**")] == []
    assert [row["name"] for row in as_json(shown["sums-scores"]["data"])][1] == "load"
    assert {artifact["data"] for artifact in artifacts if artifact["type"] == "progress"} == {100.0}


def test_the_log_of_the_flow_run_tells_what_became_of_each_step(
    kitchen: Kitchen, caplog: pytest.LogCaptureFixture
) -> None:
    """A line with its name, whether it was done, and its verdict."""
    kitchen.write("short", {"first": "1"})
    with caplog.at_level("INFO", "prefect.flow_runs"):
        kitchen.run("short")
        kitchen.run("short")
    told = [record.getMessage() for record in caplog.records if record.name == "prefect.flow_runs"]
    assert [line for line in told if line.startswith("first: ")] == [
        "first: done, PASS 1.00: the call did what was asked",
        "first: taken over, PASS 1.00: the call did what was asked",
    ]


def test_the_key_figures_of_a_run_are_a_table_in_prefect(kitchen: Kitchen) -> None:
    """numbers.json, a row for each figure; one that cannot be read shows nothing, and the run is none the worse."""
    told = {"rows": {"value": 5, "unit": "rows", "interval": [4, 6]}}
    for number, written in enumerate((json.dumps(told), '["no figures"]')):
        kitchen.write("counts", {"count": f"open('numbers.json', 'w').write({written!r})"})
        ran = kitchen.run("counts")
        assert ran.error is None
        with get_client(sync_client=True) as client:
            wanted = {"artifacts": {"key": {"any_": ["counts-kpis"]}}}
            shown = client._client.post("/artifacts/filter", json=wanted).json()
        assert len(shown) == 1, number
        assert as_json(shown[0]["data"]) == [{"name": "rows", "value": 5, "unit": "rows", "interval": "[4, 6]"}]


def test_the_form_of_a_recipe_is_typed() -> None:
    """The flow's parameters have the recipe's types, bounds and descriptions: Prefect makes a form of them."""
    from prefect.utilities.callables import parameter_schema

    from flows.quick_look import quick_look

    schema = parameter_schema(quick_look)
    text = str(schema.definitions)
    assert set(schema.properties) == {"objective", "parameters", "files", "as_of", "seed", "sample", "refresh"}
    assert "'data'" in text
    assert "integer" in text
    assert [name for name, field in schema.properties.items() if not field.get("description")] == []
    assert quick_look.description == Catalog().find("quick-look").purpose


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"files": {"dato": "x.csv"}}, BadInput),
        ({"files": {"data": "nowhere.csv"}}, BadInput),
        ({}, BadInput),
        ({"sample": True, "parameters": {"factor": "two"}}, BadParameter),
        ({"sample": True, "parameters": {"facto": 2}}, BadParameter),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    kitchen: Kitchen, asked: dict[str, Any], error: type[Exception]
) -> None:
    """A missing or unknown input and a parameter that cannot be are errors, and no run is opened."""
    from prefect.exceptions import ParameterTypeError

    kitchen.write("sums", CELLS, TOML, DATA)
    with pytest.raises((error, ParameterTypeError)):
        kitchen.run("sums", **asked)
    assert list(kitchen.home.run_ids()) == []


def test_an_expectation_that_cannot_be_is_refused_before_anything_runs(kitchen: Kitchen) -> None:
    """By the place it stands at."""
    kitchen.write("expects", {"a": "x = 1"}, "[cells.a.expects]\nrows = 3")
    with pytest.raises(RecipeInvalid, match=r"cells\.a\.expects\.rows"):
        kitchen.run("expects")
    assert list(kitchen.home.run_ids()) == []


@pytest.mark.parametrize("text", ["", "amount\n", "money\n1\n", "amount\nmuch\n"])
def test_wrong_data_is_refused_before_anything_runs(kitchen: Kitchen, text: str) -> None:
    """An empty file, one without rows, wrong columns and wrong values are errors, and no run is opened."""
    kitchen.write("sums", CELLS, TOML, DATA)
    wrong = kitchen.top / "wrong.csv"
    wrong.write_text(text)
    with pytest.raises(BadInput, match=r"wrong\.csv"):
        kitchen.run("sums", files={"data": wrong})
    assert list(kitchen.home.run_ids()) == []


def test_a_promised_deliverable_must_be_there(kitchen: Kitchen) -> None:
    """A run whose recipe does not make what it declares fails, and says what is missing."""
    kitchen.write("forgets", {"only": "1 + 1"}, 'deliverables = ["artifacts/report.txt"]')
    ran = kitchen.run("forgets")
    assert isinstance(ran.error, DeliverableMissing)
    assert ran.state.name == "failed"
    assert "artifacts/report.txt" in ran.cel


SHORT = {"first": 'open("a.csv", "w").write("n\\n1\\n")', "second": 'open("b.txt", "w").write("b")'}
MORE_ROWS = '[cells.first]\nexpects.files = [{ path = "a.csv", min_rows = 5 }]\n'


def test_a_verdict_below_the_threshold_fails_the_run_at_its_end(kitchen: Kitchen) -> None:
    """Without fail_fast the other cells run all the same, and the run fails at the end with the verdict."""
    kitchen.write("short", SHORT, MORE_ROWS)
    ran = kitchen.run("short")
    assert isinstance(ran.error, BelowThreshold)
    assert "a.csv" in str(ran.error)
    assert "second" in ran.cached()


def test_with_fail_fast_the_first_failing_verdict_ends_the_run(kitchen: Kitchen) -> None:
    """With fail_fast no cell runs after a FAIL."""
    kitchen.write("short", SHORT, f"fail_fast = true\n{MORE_ROWS}")
    ran = kitchen.run("short")
    assert isinstance(ran.error, BelowThreshold)
    assert "second" not in ran.cached()


def test_what_was_judged_fail_is_not_kept(kitchen: Kitchen) -> None:
    """A step that the Evaluator fails is run again by the next run; what passed is taken over."""
    kitchen.write("short", SHORT, MORE_ROWS)
    kitchen.run("short")
    assert kitchen.run("short").cached() == {"first": False, "second": True}


def test_searches_run_at_once_and_stand_in_the_recipes_order(kitchen: Kitchen) -> None:
    """Each search is a step with its citations, in the order of recipe.toml; evidence.json holds what they found."""
    documents = {
        f"sample_data/documents/{name}.md": f"---\nurl: https://{name}.example/\n---\n{name} pumps sell well.\n"
        for name in ("heat", "water", "bicycle", "fuel")
    }
    searches = "".join(f'[[searches]]\nname = "{name}"\nquery = "{name} pumps"\n' for name in ("heat", "water", "fuel"))
    kitchen.write(
        "scan", {"count": 'import json\nlen(json.load(open("evidence.json"))["results"])'}, searches, documents
    )
    ran = kitchen.run("scan", sample=True)
    assert ran.error is None
    names = [s.done.name for s in ran.state.steps.values()]
    assert names[:4] == ["search heat", "search water", "search fuel", "save evidence"]
    found = as_json(ran.file("evidence.json"))
    assert [search["name"] for search in found["searches"]] == ["heat", "water", "fuel"]
    assert found["results"][0]["url"] == "https://heat.example/"
    again = kitchen.run("scan", sample=True)
    assert [s.done.cached for s in again.state.steps.values()][:3] == [True, True, True]
    assert again.state.citations == ran.state.citations
    (kitchen.recipes / "scan" / "sample_data" / "documents" / "heat.md").write_text("Heat pumps sell badly.\n")
    third = kitchen.run("scan", sample=True)
    assert [s.done.cached for s in third.state.steps.values()][:3] == [False, False, False]


def test_a_search_that_fails_fails_the_run_with_its_reason(kitchen: Kitchen) -> None:
    """The other searches are recorded all the same."""
    kitchen.write("scan", {"only": "1"}, '[[searches]]\nname = "heat"\nquery = "heat pumps"\n')
    ran = kitchen.run("scan")
    assert isinstance(ran.error, StepFailed)
    assert "no folder of documents" in str(ran.error)
    assert ran.attempts("search heat") == [(False, "failed", "FAIL")]


def test_a_search_that_fails_is_tried_again(kitchen: Kitchen) -> None:
    """As often as the recipe says, each try recorded; one that says nothing is tried as often as the recipe's cells."""

    def write_documents(name: str) -> None:
        if name == "search heat":  # each has failed once by then, or will find them
            (kitchen.top / "documents").mkdir(exist_ok=True)
            (kitchen.top / "documents" / "heat.md").write_text("heat pumps sell well\n")

    once, heat = "retries = 1\nretry_delay_s = 0\n", '[[searches]]\nname = "heat"\nquery = "heat pumps"\n'
    kitchen.write("scan", {"only": "1"}, heat + once)
    ran = kitchen.run("scan", Observer(on_ended=write_documents))
    assert ran.error is None
    assert ran.attempts("search heat") == [(False, "failed", "FAIL"), (True, "", "PASS")]
    shutil.rmtree(kitchen.top / "documents")
    kitchen.write("scan", {"only": "1"}, once + heat)
    assert kitchen.run("scan").attempts("search heat") == [(False, "failed", "FAIL")] * 2


def test_a_search_waits_no_longer_than_the_recipe_says(kitchen: Kitchen) -> None:
    """On the web each try has its own time; then it is recorded as failed, and tried again or not."""
    kitchen.write(
        "scan", {"only": "1"}, '[[searches]]\nname = "heat"\nquery = "heat pumps"\ntimeout_s = 0.5\nretries = 1\n'
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kitchen.web = TavilySearch("tvly-1", f"http://127.0.0.1:{silent.getsockname()[1]}", 600, proxies={})
        ran = kitchen.run("scan")
    assert isinstance(ran.error, StepFailed)
    assert "no whole answer after 0.5 s" in str(ran.error)
    assert ran.attempts("search heat") == [(False, "failed", "FAIL")] * 2


def test_a_run_ends_its_sandbox_whatever_happens(kitchen: Kitchen) -> None:
    """No session is left of runs that went well, failed, or were given up."""
    kitchen.write("good", {"only": "1"})
    kitchen.write("bad", {"only": "1 / 0"})
    for name in ("good", "bad"):
        ran = kitchen.run(name)
        assert ran.run_id not in kitchen.jail.session_names()


def test_whoever_follows_a_run_cannot_end_it(kitchen: Kitchen) -> None:
    """A screen that breaks, as when its reader has gone away, does not stop the run."""

    def break_down(name: str) -> None:
        raise BrokenPipeError(name)

    kitchen.write("good", {"first": "1", "second": "2"})
    ran = kitchen.run("good", Observer(on_ended=break_down))
    assert ran.error is None
    assert ran.cached() == {"first": False, "second": False}
