"""Which cells need which, and what must be replayed."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.recipes import cells, write_recipe
from recipes.dataflow import Dataflow
from recipes.errors import RecipeInvalid
from recipes.file_flow import FileFlow
from recipes.recipe_file import read_recipe
from recipes.run_reads import RunReads


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("x = 1\nprint(x)", set()),
        ("print(x)\nx = 1", {"x"}),
        ("x += 1", {"x"}),
        ("[x for x in y]", {"y"}),
        ("[z for x in y for z in x if w]", {"y", "w"}),
        ("[z for x in y for z in v]", {"y", "v"}),
        ("[t := t + v for v in r]", {"t", "r"}),
        ("lambda a, b=c: a + d", {"c", "d"}),
        ("def f(a): return a + b + g\n", {"b", "g"}),
        ("def f(): return f()\nf()", set()),
        ("class A:\n    k = m\n    def f(self): return k", {"m", "k"}),
        ("if a:\n    x = 1\nprint(x)", {"a", "x"}),
        ("if a:\n    x = 1\nelse:\n    x = 2\nprint(x)", {"a"}),
        ("for i in r:\n    t = i\nprint(t)", {"r", "t"}),
        ("try:\n    x = f()\nexcept E as e:\n    print(e)\nx", {"f", "E", "x"}),
        ("with open(p) as h:\n    x = h\nx", {"p"}),
        ("with c() as h:\n    x = h\nx", {"c", "x"}),
        ("del x", {"x"}),
        ("x = 1\ntry:\n    del x\nexcept E:\n    print(x)", {"E", "x"}),
        ("x = 1\nmatch v:\n    case 1:\n        del x\nx", {"v", "x"}),
        ("def f(a=f): return a", {"f"}),
        ("(y := z) + y", {"z", "y"}),
        ("import a.b as c\nc", set()),
        ("def f():\n    global g\n    g = 1\ng", {"g"}),
        ("def f(c):\n    def g():\n        global x\n        x = 1\n    c and g()\n    return x\nf(0)", {"x"}),
        ("def f(c):\n    def g():\n        global x\n        import x\n    c and g()\n    return x.y\nf(0)", {"x"}),
        ("match v:\n    case [a, *b]:\n        print(a, b)", {"v"}),
        ("x: int", {"int"}),
        ("async def f(): await q\nawait f()", {"q"}),
    ],
)
def test_what_a_cell_uses(code: str, uses: set[str]) -> None:
    """Names bound first, in scopes inside, or for sure in every branch are the cell's own."""
    assert Dataflow(cells(one=code)).names("one").uses - {"print", "open"} == uses


def test_who_mentions_a_variable_belongs_to_it() -> None:
    """Variables are mutable, and have aliases: whoever touches one may have changed it."""
    flow = Dataflow(cells(make="x = []", alias="y = x", change="y.append(1)", other="z = 5", use="print(x)"))
    assert flow.needs("use") == ("make", "alias", "change")
    assert flow.needs("other") == ()


def test_imports_tie_nobody_together() -> None:
    """A module's name means the same everywhere: only the importing cell is needed."""
    flow = Dataflow(cells(imports="import json", one="a = json.dumps(1)", two="b = json.dumps(2)"))
    assert flow.needs("two") == ("imports",)
    assert flow.replay("two", {"one"}) == ("imports",)


def test_a_name_that_two_imports_bind_differently_is_a_variable() -> None:
    """Whoever binds it last decides what it means, so both are run again, in their order."""
    flow = Dataflow(cells(one="import pandas as x", two="import polars as x", use="x.DataFrame()"))
    assert flow.needs("use") == ("one", "two")
    assert flow.replay("use", {"two"}) == ("one", "two")


@pytest.mark.parametrize(
    "code",
    [
        "pd.set_option('a', 1)", "pd.options.x = 1", "pd.core.random.seed(1)", "del pd.x", "pd.random.rand(3)",
        "setattr(pd, 'a', 1)", "pd.config['a'] = 1", "pd.path.insert(0, 'a')",
    ],
)  # fmt: skip
def test_a_cell_that_changes_a_module_is_needed_by_all(code: str) -> None:
    """What a module's state touches cannot be seen, so every later cell comes after it."""
    flow = Dataflow(cells(imports="import pandas as pd", sets=code, reads="1 + 1"))
    assert "sets" in flow.needs("reads")


@pytest.mark.parametrize("code", ["a = np.append(x, 1)", "b = np.random.default_rng(1)", "c = np.array([1])"])
def test_plain_calls_change_no_module(code: str) -> None:
    """numpy's append makes an array, and a generator of one's own moves no other."""
    flow = Dataflow(cells(imports="import numpy as np\nx = 1", plain=code, reads="1 + 1"))
    assert flow.needs("reads") == ()


@pytest.mark.parametrize(
    "code",
    ["from os import *", "exec('x = 1')", "globals()['x'] = 1", "%run other.py", "!ls", "%%bash\necho so it is", "_"],
)
def test_what_can_touch_any_name_is_tied_to_all(code: str) -> None:
    """Star imports, exec, globals, magics and IPython's own results."""
    flow = Dataflow(cells(first="a = 1", opaque=code, last="b = 2"))
    assert flow.needs("opaque") == ("first",)
    assert flow.needs("last") == ("first", "opaque")


def test_cells_that_share_are_replayed_together() -> None:
    """A change is not made twice, and what comes later is done again after what comes before."""
    flow = Dataflow(cells(make="x = []", change="x.append(1)", alone="q = 1", use="print(x, q)"))
    assert flow.replay("use", {"make", "alone"}) == ("make", "change")
    assert flow.replay("use", {"change", "alone"}) == ("make", "change")
    assert flow.replay("use", {"make", "change", "alone"}) == ()


def test_what_of_the_run_is_read() -> None:
    """Parameter by parameter, also through functions of other cells; `run` handed on is everything."""
    flow = Dataflow(
        cells(
            imports="from recipes.kit import run as r",
            one="n = r.parameters.top_n\nm = r.parameters['other']",
            fun="def f(): return r.as_of",
            calls="f()",
            gives="print(r)",
            other="from recipes import kit\nkit",
            plain="1",
        )
    )
    assert flow.run_reads("one") == RunReads(parameters=frozenset({"top_n", "other"}))
    assert flow.run_reads("calls") == RunReads(as_of=True)
    assert flow.run_reads("gives").everything
    assert flow.run_reads("other").everything
    assert flow.run_reads("plain") == RunReads()


def test_undefined_names_are_found() -> None:
    """Also those that only a later cell defines."""
    flow = Dataflow(cells(one="print(later, nowhere, len)", two="later = 1"))
    assert flow.undefined("one") == ("later", "nowhere")
    assert flow.defined_later("one", "later") == "two"


def test_behind_what_can_bind_any_name_none_is_undefined() -> None:
    """A star import may have brought it; what stands before it is still looked at."""
    flow = Dataflow(cells(first="nowhere", star="from os import *", last="getcwd()"))
    assert flow.undefined("last") == ()
    assert flow.undefined("first") == ("nowhere",)


def test_a_syntax_error_has_a_place() -> None:
    """The cell, and the line in the notebook."""
    with pytest.raises(RecipeInvalid, match="line 2, in cell 'one'"):
        Dataflow(cells(one="x = 1\ny = = 2"))


# Programs over a few names, in which nothing is used before it is there.
NAMES = "abc"
statements = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 9)).map(lambda t: f"{t[0]} = [{t[1]}]"),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(lambda t: f"{t[0]} = [len({t[1]}), *{t[1]}]"),
    st.tuples(st.sampled_from(NAMES), st.integers(0, 9)).map(lambda t: f"{t[0]}.append({t[1]})"),
    st.tuples(st.sampled_from(NAMES), st.integers(0, 9)).map(lambda t: f"{t[0]} += [{t[1]}]"),
    st.tuples(st.sampled_from("fg"), st.sampled_from(NAMES)).map(lambda t: f"def {t[0]}(): return list({t[1]})"),
    st.tuples(st.sampled_from(NAMES), st.sampled_from("fg")).map(lambda t: f"{t[0]} = {t[1]}()"),
    st.tuples(st.sampled_from(NAMES)).map(lambda t: f"for i in range(2):\n    {t[0]}.append(i)"),
)
SETUP = {"s0": "a = [0]", "s1": "b = [1]", "s2": "c = [2]", "s3": "def f(): return [3]", "s4": "def g(): return [4]"}
programs = st.lists(st.lists(statements, min_size=1, max_size=3), min_size=1, max_size=6)


@given(programs, st.lists(st.booleans(), min_size=11, max_size=11))
def test_a_replay_gives_what_a_whole_run_gives(program: list[list[str]], is_cached: list[bool]) -> None:
    """Whichever cells came from the cache, each cell that runs finds every variable it uses as if all had run."""
    sources = SETUP | {f"p{number}": "\n".join(lines) for number, lines in enumerate(program)}
    flow = Dataflow(cells(**sources))
    whole: dict[str, Any] = {}
    kernel: dict[str, Any] = {}
    live: set[str] = set()
    for cached, (name, code) in zip(is_cached, sources.items(), strict=False):
        if not cached:
            for other in flow.replay(name, live):
                exec(sources[other], kernel)
                live.add(other)
            found = {used: shown(kernel, used) for used in flow.names(name).uses}
            assert found == {used: shown(whole, used) for used in found}
            exec(code, kernel)
            live.add(name)
        exec(code, whole)
        if not cached:
            defined = flow.names(name).defines
            assert {n: shown(kernel, n) for n in defined} == {n: shown(whole, n) for n in defined}


def shown(variables: dict[str, Any], name: str) -> object:
    value = variables.get(name)
    if not callable(value):
        return list(value) if isinstance(value, list) else value
    with contextlib.suppress(NameError):
        return value()
    return None


def test_files_are_followed_too(tmp_path: Path) -> None:
    """Read before made, in a circle, made by nobody: each with its cell."""
    notebook = (
        '# %% a\nopen("b.json").read()\n# %% b\nopen("b.json", "w")\nopen("c.json")\n'
        '# %% c\nopen("b.json")\nopen("c.json", "w")\nopen("data.csv")\nopen("nobodys.csv")\n'
    )
    toml = '[inputs.data]\nfile = "data.csv"\n[cells.a]\nreads = ["more.csv"]\n'
    flow = FileFlow(read_recipe(write_recipe(tmp_path / "mine", toml, notebook)))
    found = {(finding.cell, finding.problem.split(" ")[0]): finding.problem for finding in flow.findings()}
    assert "before it is made" in found["a", "b.json"]
    assert "in a circle" in found["b", "c.json"]
    assert "no cell, input or template" in found["a", "more.csv"]
    assert "no cell, input or template" in found["c", "nobodys.csv"]
    assert len(found) == 4
    assert flow.needs("c") == ("b",)
    assert flow.undeclared("a", ["b.json", "more.csv", "data.csv", "secret.parquet"]) == ("secret.parquet",)


def test_cells_of_quick_look_talk_through_files() -> None:
    """None needs another's variables, so any of them can be run again alone."""
    from recipes.catalog import Catalog

    recipe = Catalog().find("quick-look")
    flow = Dataflow(recipe.cells)
    assert {flow.needs(cell.name) for cell in recipe.cells} == {()}
    assert FileFlow(recipe).needs("page") == ("profile", "problems", "choose")
