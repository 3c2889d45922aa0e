"""What a cell can do, and what comes back."""

import json
import time

import pytest

from fakes.backends import Desk, Place
from sandbox import Cell


def test_variables_persist_from_cell_to_cell(desk: Desk) -> None:
    """What one cell assigns, the next one has."""
    desk.run("x = 41")
    assert desk.value("x + 1") == "42"


def test_results_are_numbered_as_in_a_notebook(desk: Desk) -> None:
    """Each cell counts one up, and its result carries the number."""
    first, second = desk.run("'a'"), desk.run("'b'")
    assert (first.execution_count, second.execution_count) == (1, 2)
    assert second.outputs[0]["execution_count"] == 2


def test_print_comes_back_as_a_stream(desk: Desk) -> None:
    """stdout and stderr are streams of their own, in nbformat's shape."""
    result = desk.run("import sys; print('out'); print('err', file=sys.stderr)")
    assert {"output_type": "stream", "name": "stdout", "text": "out\n"} in result.outputs
    assert result.text("stderr") == "err\n"


def test_prints_and_displays_keep_their_order(desk: Desk) -> None:
    """What was printed before a display stands before it."""
    result = desk.run("print('one'); display('two'); print('three'); display('four')")
    kinds = [output["output_type"] for output in result.outputs]
    assert kinds == ["stream", "display_data", "stream", "display_data"]


def test_a_frame_is_a_table_and_html_and_text(desk: Desk) -> None:
    """A data frame comes as typed columns and rows, beside its HTML and its text."""
    code = (
        "import pandas as pd, datetime as dt\npd.DataFrame({'n': [1, None], 'd': [dt.date(2026, 1, 2)] * 2, 's': 'é'})"
    )
    data = desk.run(code).outputs[-1]["data"]
    assert {"text/html", "text/plain"} <= data.keys()
    table = data["application/vnd.partner.table+json"]
    assert table["columns"] == ["n", "d", "s"]
    assert table["rows"] == [[1.0, "2026-01-02", "é"], [None, "2026-01-02", "é"]]
    assert table["total_rows"] == 2
    assert table["truncated"] is False


def test_a_polars_frame_is_a_table_too(desk: Desk) -> None:
    """polars' frames are shown the same way."""
    data = desk.run("import polars as pl; pl.DataFrame({'a': range(500)})").outputs[-1]["data"]
    table = data["application/vnd.partner.table+json"]
    assert (table["total_rows"], len(table["rows"]), table["truncated"]) == (500, 200, True)


def test_a_figure_is_a_png(desk: Desk) -> None:
    """A figure that a cell leaves open is shown once, as PNG."""
    result = desk.run("import matplotlib.pyplot as plt\n_ = plt.plot([1, 2, 3])")
    shown = [output["data"] for output in result.outputs if output["output_type"] == "display_data"]
    assert len(shown) == 1
    assert shown[0]["image/png"].startswith("iVBOR")


@pytest.mark.parametrize("kind", ["HTML", "Markdown", "JSON"])
def test_rich_displays_keep_their_media_type(desk: Desk, kind: str) -> None:
    """HTML, Markdown and JSON come as themselves."""
    media = {"HTML": "text/html", "Markdown": "text/markdown", "JSON": "application/json"}[kind]
    value = '{"a": [1]}' if kind == "JSON" else "'*x*'"
    result = desk.run(f"from IPython.display import {kind}; display({kind}({value}))")
    assert result.outputs[-1]["data"][media] in ("*x*", {"a": [1]})


def test_await_works_at_the_top(desk: Desk) -> None:
    """A cell can await without a function around it."""
    assert desk.value("import asyncio\nawait asyncio.sleep(0, 'slept')") == "'slept'"


def test_stdin_is_closed(desk: Desk) -> None:
    """A cell that asks for input gets an error at once, not a wait."""
    result = desk.run("input('name? ')", timeout_s=20)
    assert result.cause == "error"
    assert result.error is not None
    assert result.error.ename == "EOFError"


def test_output_of_programs_is_captured(desk: Desk) -> None:
    """What a subprocess prints, and what C code prints, is the cell's output."""
    result = desk.run(
        "import os, subprocess; subprocess.run(['echo', 'from echo']); os.write(1, b'from C\\n')\n!echo bang"
    )
    assert result.text("stdout") == "from echo\nfrom C\nbang\n"


def test_output_streams_while_the_cell_runs(place: Place) -> None:
    """A line reaches the caller when it is printed, not when the cell ends."""
    arrived: dict[str, float] = {}
    with place.session() as desk:
        cell = Cell(code="import time\nprint('early')\ntime.sleep(1.5)\nprint('late')")
        desk.session.run(cell, lambda output: arrived.setdefault(output["text"], time.monotonic()))
    assert arrived["late\n"] - arrived["early\n"] > 1


def test_output_is_capped_and_counted(place: Place) -> None:
    """Beyond the cap nothing is captured, everything is counted, and the mark says so."""
    with place.session(limits={"output_bytes": 1024}) as desk:
        result = desk.run("print('x' * 5000, end='')")
    assert result.stdout.model_dump() == {"captured": 1024, "total": 5000, "truncated": True}
    assert result.text("stdout") == "x" * 1024


def test_a_display_beyond_the_cap_is_left_out_with_a_note(place: Place) -> None:
    """A display larger than a cell may show is replaced by a sentence."""
    with place.session(limits={"display_bytes": 1024}) as desk:
        result = desk.run("display('x' * 5000)")
    assert "left out" in result.outputs[0]["data"]["text/plain"]
    assert result.display.truncated


def test_bytes_that_are_no_text_do_no_harm(desk: Desk) -> None:
    """Invalid UTF-8 is replaced, and characters cut in two by a pipe are whole again."""
    assert desk.run("import os; _ = os.write(1, b'a\\xff\\xfeb')").text("stdout") == "a\ufffd\ufffdb"
    assert (
        desk.run("import os, time\nos.write(1, b'\\xc3')\ntime.sleep(.2)\n_ = os.write(1, b'\\xa9')").text("stdout")
        == "é"
    )
    assert desk.run("print('\\ud800')").text("stdout") == "\\ud800\n"


def test_an_error_carries_its_traceback(desk: Desk) -> None:
    """Class, text and lines of an exception come back, also as an nbformat output."""
    result = desk.run("def f():\n    return 1 / 0\nf()")
    assert (result.ok, result.cause, result.fault, result.state) == (False, "error", "cell", "kept")
    assert result.error is not None
    assert result.error.ename == "ZeroDivisionError"
    assert "return 1 / 0" in "".join(result.error.traceback)
    assert result.outputs[-1]["output_type"] == "error"


@pytest.mark.parametrize(
    "code", ["x = = 1", "raise SystemExit(3)", "raise ExceptionGroup('g', [ValueError('v')])", "\0"]
)
def test_every_kind_of_error_leaves_the_session_usable(desk: Desk, code: str) -> None:
    """Syntax errors, exits and groups are errors of the cell, and the next cell runs."""
    assert desk.run(code).cause == "error"
    assert desk.value("1 + 1") == "2"


def test_an_exception_that_cannot_be_printed_is_still_an_error(desk: Desk) -> None:
    """A class whose text fails does not take the kernel with it."""
    assert desk.run("class E(Exception):\n    def __str__(self): raise ValueError\nraise E()").cause == "error"
    assert desk.value("1 + 1") == "2"


def test_a_missing_library_is_said_before_anything_runs(desk: Desk) -> None:
    """A cell that imports what is not there does not run half."""
    result = desk.run("done = True\nimport requests")
    assert result.error is not None
    assert result.error.ename == "ImportNotAllowed"
    assert "pandas" in result.detail
    assert desk.run("done").cause == "error"
    assert desk.value("try:\n    import requests\nexcept ImportError:\n    pass\n'went on'") == "'went on'"


def test_a_disallowed_library_is_refused_by_policy(place: Place) -> None:
    """What a session's spec disallows is refused with a clear word."""
    with place.session(disallowed_imports=("sqlite3",)) as desk:
        assert "sqlite3 is not for cells" in desk.run("import sqlite3").detail


def test_a_cells_own_modules_can_be_imported(desk: Desk) -> None:
    """A Python file in the work directory is a module."""
    desk.run("from pathlib import Path; _ = Path('mine.py').write_text('answer = 42')")
    assert desk.value("import mine; mine.answer") == "42"


def test_random_numbers_follow_the_runs_seed(place: Place) -> None:
    """The same seed draws the same numbers, another seed others, in Python and in numpy."""
    draw = "import random, numpy as np; print(random.random(), np.random.random())"
    texts = []
    for seed in (7, 7, 8):
        with place.session(seed=seed) as desk:
            texts.append(desk.run(draw).text("stdout"))
    assert texts[0] == texts[1] != texts[2]


def test_a_large_cell_and_a_large_display_pass_whole(desk: Desk) -> None:
    """Code and displays larger than a packet arrive complete."""
    assert desk.value(f"len({'y' * 300_000!r})") == "300000"
    shown = desk.run("from IPython.display import JSON; JSON(list(range(100_000)))").outputs[-1]["data"]
    assert json.loads(json.dumps(shown["application/json"]))[-1] == 99_999


@pytest.mark.parametrize(
    "code",
    [
        "import pandas as pd, io; pd.read_csv(io.StringIO('a\\n1')).to_parquet('a.parquet'); pd.read_parquet('a.parquet')",
        "import polars as pl; pl.DataFrame({'a': [1, 2]}).lazy().group_by('a').agg(pl.len()).collect()",
        "import statsmodels.api as sm, numpy as np; sm.OLS(np.arange(9.), sm.add_constant(np.arange(9.))).fit().params",
        "import weasyprint; len(weasyprint.HTML(string='<p>é').write_pdf('a.pdf') or b'') or open('a.pdf', 'rb').read(4)",
        "import pptx; p = pptx.Presentation(); p.save('a.pptx')",
        "import openpyxl; b = openpyxl.Workbook(); b.save('a.xlsx'); openpyxl.load_workbook('a.xlsx')",
        "import pandas as pd; pd.DataFrame({'a': [1]}).to_excel('a.xlsx'); pd.read_excel('a.xlsx')",
        "import sqlite3; c = sqlite3.connect('a.db'); c.execute('create table t(a)'); c.commit()",
        "import shutil; open('a', 'w').write('x'); shutil.copy2('a', 'b'); shutil.copytree('.', 'c', ignore=lambda d, n: ['c'])",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); f.close()",
        "import zipfile; z = zipfile.ZipFile('a.zip', 'w'); z.writestr('a', 'b'); z.close()",
        "from concurrent.futures import ThreadPoolExecutor as P; list(P(2).map(abs, [-1]))",
        "import matplotlib.pyplot as plt; plt.plot([1]); plt.savefig('a.svg')",
    ],
)
def test_what_recipes_need_works_inside_the_walls(desk: Desk, code: str) -> None:
    """The allowed libraries read, compute and write as they do outside."""
    result = desk.run(code)
    assert result.ok, (result.detail, result.error)
