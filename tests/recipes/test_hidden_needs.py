"""What a cell depends on without naming it plainly: by strings, by modules, by other ways to the run."""

import re
from pathlib import Path

import pytest

from fakes.recipes import cells
from recipes.dataflow import Dataflow


@pytest.mark.parametrize(
    "code",
    [
        'df.query("x > @limit")',
        'df.query("x > limit")',
        'df.eval("a * limit")',
        'pd.eval("limit + 1")',
        'smf.ols("y ~ limit(x)", data=d)',
        'smf.ols(formula="y ~ limit(x)", data=d)',
        'smf.logit(f"y ~ limit(z)", d)',
        'fitted = "y ~ limit(x)"',
        'words = {"filter": "x > @limit"}',
        'patsy.dmatrix("limit(x)", d)',
        'pl.sql("SELECT * FROM limit")',
        'duckdb.sql("SELECT * FROM limit").df()',
        'con.execute("SELECT * FROM limit")',
        'df.query("x" " > " + "@limit")',
        "(lambda d: d.query('x > @limit'))(df)",
        "def f(d): return d.query('x > @limit')\nf(df)",
        'df.query(f"x > @limit and y == {y}")',
        "def f(a: 'limit'): return a",
        "a: 'list[limit]' = []",
    ],
)
def test_a_name_in_a_string_that_is_looked_up_counts(code: str) -> None:
    """Queries, formulas and SQL name variables as code does."""
    flow = Dataflow(cells(make="limit = 1", other="unheard = 2", use=code))
    assert flow.needs("use") == ("make",)
    assert "limit" not in flow.undefined("use")


def test_a_name_in_a_string_may_be_the_cells_own() -> None:
    """What the cell binds first is no other cell's; what a plain text says is nobody's."""
    flow = Dataflow(cells(make="limit = 1", other="x = 1", use="top = 5\ndf.query('n > @top')\nprint('the limit')"))
    assert flow.needs("use") == ()


def test_names_in_strings_of_other_cells_are_followed() -> None:
    """A formula is a variable of one cell, its function another's, and its use a third's."""
    flow = Dataflow(cells(text="formula = 'y ~ f(x)'", fun="def f(x): return k", value="k = 2", use="print(formula)"))
    assert flow.needs("use") == ("text", "fun", "value")


@pytest.mark.parametrize(
    "code",
    [
        "df.query(text)", "df.eval(expr=parts[0])", 'df.query(f"x > @{name}")', 'smf.ols("y ~ " + " + ".join(c), d)',
        "pl.SQLContext(register_globals=True)", "import pickle\npickle.load(file)", "pd.read_pickle('a.pkl')",
        "import shelve as p\np.open(b)", 'smf.logit(f"y ~ {x}", d)', "def f(d, e): return d.query(e)",
    ],
)  # fmt: skip
def test_what_may_read_any_name_needs_all_before(code: str) -> None:
    """A query that is computed, or an object restored by the name of its class; what comes later is free of it."""
    flow = Dataflow(cells(first="a = 1", run="from recipes.kit import run\nb = run.seed", opaque=code, last="c = 2"))
    assert flow.needs("opaque") == ("first", "run")
    assert flow.run_reads("opaque").everything
    assert flow.needs("last") == ()


@pytest.mark.parametrize("code", ["rng.poisson(mean, 3)", "special.logit(p)", "model.eval()", "df.query(f'x > {y}')"])
def test_plain_calls_read_no_names(code: str) -> None:
    """Not every function of such a name looks names up, and a value put into a text is a value."""
    assert Dataflow(cells(first="a = 1", plain=code)).needs("plain") == ()


def test_what_needs_a_cell_that_reads_all_needs_all() -> None:
    """A function that makes queries is called later."""
    flow = Dataflow(cells(ask="def ask(d, e): return d.query(e)", value="limit = 1", use="ask(1, '@' + 'limit')"))
    assert flow.needs("use") == ("ask", "value")
    assert flow.replay("use", {"ask"}) == ("ask", "value")


@pytest.mark.parametrize(
    "code",
    [
        "import __main__ as m\nm.a", "from __main__ import a", "import sys\nsys.modules['__main__'].a",
        "from sys import modules", "import builtins\nbuiltins.eval('a')", "__builtins__['eval']('a')",
        "f.__globals__['a']", "import sys\nsys._getframe().f_globals", "import inspect\ninspect.currentframe()",
        "import importlib\nimportlib.import_module('__main__')", "__import__(name)", "getattr(f, '__globals__')",
        "import timeit\ntimeit.timeit('f()', setup='from __main__ import f')", "import gc\ngc.get_objects()", "print.__self__.eval('a')", "import unittest\nunittest.main()",
        "import cProfile\ncProfile.run('f()')", "def f():\n    return eval('a')", "_oh[1]", "vars()['a']",
        "locals()['a']", "import IPython\nIPython.get_ipython()", "import inspect\ninspect.getmodule(f).a",
        "class C:\n    def m(self): return globals()", "[eval][0]('a')",
    ],
)  # fmt: skip
def test_ways_to_every_name_tie_to_all(code: str) -> None:
    """Whoever can look at the kernel's variables may read and bind each of them."""
    flow = Dataflow(cells(first="a = 1", opaque=code, last="b = 2"))
    assert flow.needs("opaque") == ("first",)
    assert flow.needs("last") == ("first", "opaque")
    assert flow.run_reads("opaque").everything


def test_asking_who_runs_is_no_way_to_every_name() -> None:
    """A script's usual last lines."""
    assert Dataflow(cells(first="a = 1", main="if __name__ == '__main__':\n    pass")).needs("main") == ()


@pytest.mark.parametrize(
    "code",
    [
        "import helper", "from helper import f", "def f():\n    import helper\n    return helper.x",
        "from tools.helper import f", "from . import helper", "import importlib\nimportlib.import_module('helper')",
        "__import__('helper')", "SourceFileLoader('helper', 'h.py').load_module()", "import runpy\nrunpy.run_path('a.py')",
    ],
)  # fmt: skip
def test_a_module_of_the_runs_own_ties_to_all_after(code: str) -> None:
    """Its state is shared, its code unseen: it may read the run, and change any other module."""
    flow = Dataflow(cells(write="open('helper.py', 'w')", one=code, two="import helper", last="1 + 1"))
    assert flow.needs("two") == ("one",)
    assert flow.needs("last") == ("one", "two")
    assert flow.run_reads("last").everything


def test_a_file_may_have_the_name_of_a_library() -> None:
    """What the run wrote comes before what is installed."""
    flow = Dataflow(cells(write="open('words/colorsys.py', 'w')", one="import colorsys", two="1"))
    assert flow.needs("two") == ("one",)


def test_who_uses_what_a_module_of_the_runs_own_gave_is_needed() -> None:
    """Its functions may change it, and so may the methods of what it makes."""
    flow = Dataflow(
        cells(imports="from helper import bump, Box", calls="bump()", makes="b = Box()", uses="b.fill()", last="1")
    )
    assert flow.needs("last") == ("imports", "calls", "makes", "uses")


@pytest.mark.parametrize("package", ["json", "pandas", "PIL", "dateutil", "recipes.kit.words", "xml.etree.ElementTree"])
def test_known_packages_are_nobodys_own(package: str) -> None:
    """The standard library, what the sandbox has, the kit."""
    assert Dataflow(cells(one=f"import {package} as p", two="1")).needs("two") == ()


@pytest.mark.parametrize(
    "code",
    [
        "np.seterr(all='raise')", "np.set_printoptions(3)", "o = pd.options\no.display.x = 1", "c = plt.rcParams\nc['a'] = 1",
        "e = os.environ\ne['A'] = '1'", "e: object = os.environ\ne.update({})", "pl.Config.set_tbl_rows(3)",
        "pl.Config(tbl_rows=3)", "pl.Config.load('{}')", "import decimal\ndecimal.getcontext().prec = 3",
        "import decimal\nc = decimal.getcontext()\nc.prec = 3", "from decimal import getcontext\nd = c = getcontext()\nc.prec = 3",
        "import locale\nlocale.setlocale(0, 'C')", "import warnings\nwarnings.filters.clear()",
        "import logging\nlogging.getLogger('x').setLevel(1)", "import logging\nx = logging.getLogger()\nx.addHandler(1)",
        "pd.DataFrame.foo = len", "setattr(pd.DataFrame, 'foo', len)", "D = pd.DataFrame\nD.foo = 1",
        "c = pd.option_context('a', 1)\nc.__enter__()", "s.enter_context(np.errstate(all='raise'))",
        "from os import environ\nenviron.update(a='1')", "from matplotlib import rcParams\nrcParams.update({})",
        "from sys import path\npath += ['x']", "from matplotlib import rcParams as r\nr |= {}",
        "import importlib\np = importlib.import_module('pandas')\np.foo = 1", "change(pd)", "change(plt.rcParams)",
        "object.__setattr__(pd, 'a', 1)", "os.environ.__setitem__('a', '1')", "import operator\noperator.setitem(os.environ, 'a', 'b')",
        "@pd.api.extensions.register_x\nclass A: pass", "from recipes.kit import run\nrun.parameters.rivals.append(1)",
        "from recipes.kit import run\nr = run.parameters.rivals\nr.append(1)", "a, b = pd.options, 1\na.x = 2",
        "for o in (pd.options, plt.rcParams):\n    o.x = 1", "if (o := pd.options):\n    o.x = 1", "sys.path += ['lib']",
        "def kept(): return pd.options\no = kept()\no.x = 1", "def kept(): return pd.options\nkept().x = 1",
        "mine = {}\nmine['o'] = pd.options\nmine['o'].x = 1", "several = [pd.options]\nseveral[0].x = 1",
        "s = pd.set_option\ns('a', 1)", "from pandas import set_option as s\ns('a', 1)", "from os import chdir as go\ngo('a')",
        "import functools\nf = functools.partial(pd.set_option, 'a')\nf(1)", "type(df).foo = 1", "df.__class__.foo = 1",
        "setattr(type(df), 'foo', 1)", "list(map(os.chdir, ['a']))", "hooks = [plt.rcdefaults]", "class A:\n    opts = pd.options\nA.opts.x = 1",
        "from recipes.kit import run\nrun.begin('{}')", "loader.exec_module(m)",
        "import tempfile\np = tempfile.gettempdir() + '/x'", "from pathlib import Path\np = Path.home() / 'x'",
        "pd.DataFrame().to_parquet('~/x.parquet')", "p = os.path.expanduser('~/x')",
        "import csv\ncsv.field_size_limit(1)", "import signal\nsignal.signal(1, f)", "sys.stdout.reconfigure()",
    ],
)  # fmt: skip
def test_a_cell_that_changes_what_a_module_keeps_is_needed_by_all(code: str) -> None:
    """By any of the names that lead there."""
    imports = "import os, sys\nimport pandas as pd, numpy as np, polars as pl\nimport matplotlib.pyplot as plt"
    flow = Dataflow(cells(imports=imports, sets=code, reads="1 + 1"))
    assert "sets" in flow.needs("reads")


@pytest.mark.parametrize(
    "code",
    [
        "with pl.Config(tbl_rows=3):\n    print(1)", "with pd.option_context('a', 1):\n    print(1)", "print(pd)",
        "c = pd.DataFrame\nd = c([1])\nd.columns = ['a']", "fig, ax = plt.subplots()\nax.set_title('x')",
        "home = dict(os.environ)\nhome['a'] = '1'", "json.load(open('a.json'))", "with np.errstate(all='ignore'):\n    1",
        "x = np.linspace(0, 1)\nx[0] = 2", "math.pi", "p = math.pi * 2\np += 1",
        "by = {'mean': np.mean}\nby['max'] = np.max", "rng = np.random.default_rng(1)\nrng.poisson(x, n)",
        "from recipes.kit import run\nrng = np.random.default_rng(run.seed)", "from scipy import signal\nsignal.find_peaks(x)",
        "def f(rng: np.random.Generator): return rng", "from recipes.kit import run\nx = run.parameters.top_n",
        "parts = os.path.split('a')\nparts.append", "t = pd.read_csv('a.csv').set_index('a')", "pl.col('a').list.set_union([1])",
        "plt.gca().set_title('t')\nplt.gcf().axes[0].set_xlabel('x')", "np.random.seed(1)\nx = np.random.rand(3)",
        "import random\nrandom.shuffle(x)", "new = df.set_index('a')\nnew['b'] = 1",
    ],
)  # fmt: skip
def test_what_changes_no_module_is_needed_by_nobody(code: str) -> None:
    """Settings that end with a block, and things of one's own."""
    imports = "import json, math, os\nimport pandas as pd, numpy as np, polars as pl\nimport matplotlib.pyplot as plt"
    assert Dataflow(cells(imports=imports, plain=code, reads="1 + 1")).needs("reads") == ()


def test_a_method_that_a_decorator_gives_to_a_librarys_class() -> None:
    """The decorator is handed the class, and later cells say the method's name alone."""
    adds = "def method_of(cls):\n    def add(f): setattr(cls, f.__name__, f)\n    return add"
    gives = "@method_of(pd.DataFrame)\ndef total(self): return 1"
    own = "class Own:\n    def __init__(self, **given):\n        for name in given: setattr(self, name, 1)"
    flow = Dataflow(cells(imports="import pandas as pd", adds=adds, own=own, gives=gives, uses="df.total()"))
    assert flow.needs("uses") == ("imports", "adds", "gives")


def test_who_calls_a_function_that_changes_a_module_is_needed_by_all() -> None:
    """By its name, by a second one, by a function around it, by a method of what a class makes."""
    flow = Dataflow(
        cells(
            style="import matplotlib.pyplot as plt\ndef style(): plt.rc('a')\nclass Look:\n    def on(self): plt.rc('a')",
            around="def all_of_it(): style()\nagain = style",
            first="all_of_it()",
            second="again()",
            made="look = Look()",
            third="look.on()",
            plain="x = 1",
            last="1 + 1",
        )
    )
    assert flow.needs("last") == ("style", "around", "first", "second", "made", "third")


@pytest.mark.parametrize(
    "code",
    [
        "r = run", "getattr(run, 'as_of')", "globals()['run']", "[run][0].as_of", "f(run)", "vars(run)",
        "import __main__\n__main__.run", "import __main__ as m\nm.run.as_of", "df.query('x > @run.as_of')",
        "import importlib\nimportlib.import_module('recipes.kit').run", "import sys\nsys.modules['recipes.kit'].run",
        "class C:\n    from recipes.kit import run\nC.run.as_of", "from recipes.kit.current_run import run as r\nr.as_of",
        "import recipes.kit\nrecipes.kit.run", "def f(it=run): return it.as_of", "match run:\n    case x: x.as_of",
        "run._told", "(lambda: run)().as_of", "for it in [run]:\n    it.seed", "from recipes.kit import *", "f'{run}'",
    ],
)  # fmt: skip
def test_other_ways_to_the_run_read_all_of_it(code: str) -> None:
    """What cannot be followed part by part; and whoever needs such a cell reads as much."""
    flow = Dataflow(cells(imports="from recipes.kit import run", way=f"{code}\nheld = 1", later="print(held)"))
    assert flow.run_reads("way").everything
    assert flow.run_reads("later").everything


def test_the_run_is_known_whatever_else_has_its_name() -> None:
    """A later cell's import of that name, an import in a function, the insides of the parameters."""
    flow = Dataflow(
        cells(
            imports="from recipes.kit import run",
            reads="day = run.as_of",
            other="from subprocess import run",
            begins="def begin():\n    global it\n    from recipes.kit import run as it",
            inner="it.objective",
            beneath="run.parameters._values['top_n']",
        )
    )
    assert flow.run_reads("reads").as_of
    assert flow.run_reads("inner").objective
    assert flow.run_reads("beneath").all_parameters


@pytest.mark.parametrize(
    "code",
    [
        "0 < 1 < (x := 2)\nprint(x)", "[x := 1 for y in []]\nprint(x)", "False and (x := 1)\nprint(x)",
        "match 1:\n    case 2 as x: pass\nprint(x)", "for x in []: pass\nprint(x)", "def f():\n    global x\n    x = 1\nprint(x)",
        "x: int\nprint(x)", "class A:\n    x = x", "class A(x): pass", "lambda a=x: a", "@x\ndef f(): pass",
        "def f(a: x): pass", "print(f'{1:{x}}')", "while c:\n    x = 1\nprint(x)", "try:\n    x = 1\nexcept E: pass\nprint(x)",
        "import contextlib\nwith contextlib.suppress(E):\n    x = 1\nprint(x)", "x[0] = 1", "x.a = 1", "del x[0]",
        "for x.a in r: pass", "with c as x.a: pass", "def f():\n    def g(): return x\n    return g", "x += 1",
        "try:\n    1\nexcept E as x:\n    pass\nprint(x)", "(x := x + 1)", "def f():\n    global x\n    del x\nf()",
        "import a as x, b\nx", "async def f():\n    async with x: pass", "match x:\n    case {'a': 1, **r}: pass",
    ],
)  # fmt: skip
def test_a_variable_that_may_be_an_earlier_ones_is_needed(code: str) -> None:
    """Wherever Python lets a name stand, and whatever may or may not bind it before."""
    assert "make" in Dataflow(cells(make="x = 1", use=code)).needs("use")


def test_a_submodule_is_there_by_whoever_imported_it() -> None:
    """`import xml` alone has no xml.dom: when that comes from an earlier cell, that one is needed."""
    flow = Dataflow(cells(one="import xml.dom", two="import xml\nxml.dom", three="import xml.sax", four="import json"))
    assert [flow.needs(name) for name in ("two", "three", "four")] == [("one",), (), ()]


@pytest.mark.parametrize("inner", ["x = 2", "print(x)", "import os as x", "x += 1", "del x"])
def test_a_function_in_a_function_may_declare_a_name_global(inner: str) -> None:
    """It is the module's, also when the function around it has one of its own by that name."""
    code = f"def f():\n    x = 1\n    def g():\n        global x\n        {inner}\n    g()"
    assert Dataflow(cells(make="x = 0", define=code, call="f()", use="x")).needs("use") == ("make", "define", "call")


def test_a_private_name_in_a_class_is_the_classes() -> None:
    """Python reads `__limit` in a class C as `_C__limit`."""
    assert Dataflow(cells(a="_C__limit = 1", b="class C:\n    def m(self): return __limit")).needs("b") == ("a",)


def test_every_locked_library_is_known() -> None:
    """One that is missing would be taken for the recipe's own, and tie all later cells to whoever imports it."""
    lock = Path(__file__).parents[2] / "requirements-sandbox.lock"
    names = set(re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE)) - {"pyseccomp"}  # not for cells
    imported_as = {
        "fonttools": "fontTools", "ipython": "IPython", "ipython-pygments-lexers": "pygments", "pillow": "PIL",
        "polars-runtime-32": "polars", "python-dateutil": "dateutil", "python-pptx": "pptx",
    }  # fmt: skip
    sources = {f"use-{name}": f"import {imported_as.get(name, name.replace('-', '_'))}" for name in sorted(names)}
    assert Dataflow(cells(**sources, last="1")).needs("last") == ()
