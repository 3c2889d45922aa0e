"""The kit and quick-look where they run: in the sandbox, on tables as people send them."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.backends import Desk, Place
from fakes.browser import open_browser
from recipes.catalog import Catalog
from recipes.inputs import check_inputs, sample_inputs
from recipes.library import library
from recipes.parameters import resolve
from recipes.prelude import prelude
from recipes.recipe import Recipe
from recipes.recipe_file import read_recipe
from recipes.scaffold import new_recipe
from sandbox import HostSettings, LocalJail
from three_tools.evaluator import Expectations

AS_OF = "2026-11-18"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A jail whose cells have the kit."""
    import os
    import tempfile

    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    jail = LocalJail(top / "home", HostSettings(host_idle_s=60), libraries=library())
    yield Place(jail, top, os.geteuid())
    jail.stop()
    shutil.rmtree(top, ignore_errors=True)


def begun(desk: Desk, recipe: Recipe, files: dict[str, Path]) -> None:
    for name, path in {**recipe.templates, **check_inputs(recipe, files)}.items():
        desk.put(name, path.read_bytes())
    names = {entry.name: entry.file for entry in recipe.inputs.values()}
    assert desk.run(prelude(resolve(recipe, {}), recipe.objective, AS_OF, 7, names)).ok


def run_all(desk: Desk, recipe: Recipe, files: dict[str, Path]) -> None:
    """Every cell ends well and says nothing on stderr."""
    begun(desk, recipe, files)
    for cell in recipe.cells:
        result = desk.run(cell.source)
        assert result.ok, (cell.name, result.error)
        assert [output for output in result.outputs if output.get("name") == "stderr"] == []
    for path in recipe.deliverables:
        assert (desk.work / path).stat().st_size > 0


def test_a_cell_knows_its_run(place: Place) -> None:
    """Parameters, date, question, seed and files are those that the prelude told, and nothing of them is run."""
    with place.session() as desk:
        told = {"top_n": 3, "name": '"); raise SystemExit #'}
        desk.run(prelude(told, "Why?", AS_OF, 7, {"data": "data.csv"}))
        code = (
            "from recipes.kit import run\nrun.parameters.top_n, run.as_of, run.objective, run.seed, run.inputs['data']"
        )
        assert desk.value(code) == f"(3, '{AS_OF}', 'Why?', 7, 'data.csv')"
        assert desk.value("run.parameters.name") == repr(told["name"])
        assert "_run" not in desk.value("sorted(globals())")


def test_without_a_run_the_defaults_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A notebook opened in Jupyter sees recipe.toml's defaults, and the sample as its input."""
    from recipes.kit.current_run import Run

    recipe = Catalog().find("quick-look")
    monkeypatch.chdir(recipe.folder / "templates")
    run = Run()
    assert (run.parameters.top_n, run.objective) == (8, recipe.objective)
    assert run.inputs["data"] == str(recipe.folder / "sample_data" / "orders.csv")
    with pytest.raises(KeyError, match="declares top_n"):
        run.parameters["topn"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="open the recipe's folder"):
        _ = Run().seed


def test_quick_look_finds_what_was_planted(place: Place, tmp_path: Path) -> None:
    """Every fault in the sample is found in as many rows as were planted, and the page has the same bytes each time."""
    recipe = Catalog().find("quick-look")
    truth = json.loads((recipe.folder / "sample_data" / "orders_truth.json").read_text())
    pages = []
    for _ in range(2):
        with place.session() as desk:
            run_all(desk, recipe, sample_inputs(recipe))
            problems = json.loads((desk.work / "problems.json").read_text())
            pages.append((desk.work / "artifacts/quick_look.html").read_bytes())
    assert sorted(problem["count"] for problem in problems) == sorted(truth["planted"].values())
    assert pages[0] == pages[1]


TABLES = {
    "one row": "a,b,c\n1,2025-01-01,x\n",
    "text only": "name\nanna\nbob\n",
    "nothing in it": "a,b\nNA,\nNA,-\n",
    "200 columns": ",".join(f"c{n}" for n in range(200)) + "\n" + ",".join(map(str, range(200))) + "\n",
    "weird headers": '"<script>alert(1)</script>","{{ 7*7 }}",,a,a,"x\ny"\n<b>,=1+1,1,2,3,é\n"&",{% if %},,4,5,z\n',
    "german": "Datum;Umsatz\n31.01.2025;1.200,50\n28.02.2025;900,00\n",
    "one value": "a,b\n1,yes\n1,yes\n",
    "short rows": "a,b,c\n1,2\n3,4,5\n",
    "huge numbers": "a\n1e300\n-1e300\n5\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_quick_look_takes_any_table(place: Place, tmp_path: Path, text: str) -> None:
    """Whatever its shape, it gives three charts and a page in which nothing of the data is markup."""
    (tmp_path / "any.csv").write_text(text)
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        run_all(desk, recipe, {"data": tmp_path / "any.csv"})
        html = (desk.work / "artifacts/quick_look.html").read_text()
        assert len(list(desk.work.glob("charts/*.svg"))) == 3
    assert "<script" not in html
    assert html.count("<svg") == 3


def test_a_new_recipe_runs_as_it_is(place: Place, tmp_path: Path) -> None:
    """What `partner recipe new` makes gives its deliverable from its own sample."""
    recipe = read_recipe(new_recipe("churn-report", tmp_path))
    with place.session() as desk:
        run_all(desk, recipe, sample_inputs(recipe))
        assert "2,180" in (desk.work / "artifacts/report.html").read_text()


def test_quick_look_meets_what_it_declares(place: Place) -> None:
    """Each file that a cell is expected to make is there after it, and fits its schema."""
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        begun(desk, recipe, sample_inputs(recipe))
        for cell in recipe.cells:
            assert desk.run(cell.source).ok
            for expected in Expectations.model_validate(cell.expects).files:
                assert (desk.work / expected.path).is_file()
                if expected.json_schema:
                    check = f"import fastjsonschema, json\nfastjsonschema.validate({expected.json_schema!r}, json.load(open({expected.path!r}))) and 1"
                    assert desk.run(check).ok, expected.path


def test_numbers_dates_and_codes_are_told_apart(place: Place) -> None:
    """Columns get the type that all of their values have; postcodes stay text."""
    with place.session() as desk:
        desk.put("t.csv", "n;d;code;b\n1.200,50;31.01.2025;01234;yes\n;28.02.2025;99999;no\n")
        code = "from recipes.kit import tables\nt = tables.read_table('t.csv')\n[str(t[c].dtype) for c in t]"
        assert desk.value(code) == "['float64', 'datetime64[us]', 'str', 'boolean']"
        assert desk.value("(float(t.n[0]), str(t.d[0].date()), t.code[0])") == "(1200.5, '2025-01-31', '01234')"


def test_a_change_in_the_kit_is_another_environment(tmp_path: Path) -> None:
    """The digest names the kit: another kit means another host, and results of the old one do not count."""
    from sandbox.environment import find_environment

    kit = tmp_path / "kit"
    shutil.copytree(library()["recipes/kit"], kit, ignore=shutil.ignore_patterns("__pycache__"))
    given = library() | {"recipes/kit": kit}
    before = find_environment(libraries=given)
    assert before.digest == find_environment(libraries=library()).digest != find_environment().digest
    assert (before.code / "recipes/kit/current_run.py").is_file()
    assert not (before.code / "recipes/catalog.py").exists()
    (kit / "words.py").write_text((kit / "words.py").read_text() + "# changed\n")
    after = find_environment(libraries=given)
    assert after.digest != before.digest
    shutil.rmtree(after.code)


def test_a_name_without_blanks_is_shortened_and_not_lost(place: Place, tmp_path: Path) -> None:
    """A chart's title keeps the beginning of the column's name, however long it is."""
    (tmp_path / "long.csv").write_text(f"{'x' * 180},n\n" + "a,1\nb,2\n" * 9)
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        run_all(desk, recipe, {"data": tmp_path / "long.csv"})
        titles = [chart["title"] for chart in json.loads((desk.work / "charts.json").read_text())]
        assert titles[0] == f"Most frequent values of “{'x' * 43}…”"


def test_a_table_of_many_words_takes_seconds(place: Place, tmp_path: Path) -> None:
    """Looking for spellings costs as much as there are words, not a comparison for each."""
    rows = "".join(f"O-{number:06},{number % 7}\n" for number in range(100_000))
    (tmp_path / "many.csv").write_text(f"order,n\n{rows}o-000001,1\n")
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        begun(desk, recipe, {"data": tmp_path / "many.csv"})
        for cell in recipe.cells:
            assert desk.run(cell.source, timeout_s=cell.timeout_s / 3).ok, cell.name
        (problem,) = json.loads((desk.work / "problems.json").read_text())
        assert (problem["count"], problem["examples"]) == (1, ["“o-000001” for “O-000001”"])


def test_units_are_kept_and_told_apart(place: Place, tmp_path: Path) -> None:
    """€ and % stand by the figures again, and a column that mixes two units is something to look at."""
    (tmp_path / "units.csv").write_text(
        "price;share;mixed\n€1.200,50;12 %;$5\n€900,00;7 %;€6\n€40,00;9 %;7\n", encoding="utf-8"
    )
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        run_all(desk, recipe, {"data": tmp_path / "units.csv"})
        assert [c["unit"] for c in json.loads((desk.work / "profile.json").read_text())["columns"]] == ["€", "%", ""]
        (problem,) = json.loads((desk.work / "problems.json").read_text())
        assert (problem["where"], problem["what"]) == ("mixed", "units are mixed (none, $, €), and read as one")
        assert "€1,200" in (html := (desk.work / "artifacts/quick_look.html").read_text())
        assert "12\u00a0%" in html


def test_the_outermost_dates_of_a_small_table_are_drawn(place: Place, tmp_path: Path) -> None:
    """Only dates far from all others are left out of the chart, and its note says how many."""
    dates = [f"2025-{month:02}-01" for month in range(1, 13)]
    recipe = Catalog().find("quick-look")
    for more, left_out in (("", ""), ("2099-01-01\n", "; 1\u00a0row far from all others left out")):
        (tmp_path / "dates.csv").write_text("when\n" + "\n".join(dates) + "\n" + more)
        with place.session() as desk:
            run_all(desk, recipe, {"data": tmp_path / "dates.csv"})
            chart = json.loads((desk.work / "charts.json").read_text())[0]
            assert (chart["kind"], chart["note"]) == ("time", f"Number of rows in each month{left_out}")
            assert (desk.work / chart["file"]).read_text().count("<rect") == 12


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_a_telephone_and_a_screen(place: Place, tmp_path: Path, width: int) -> None:
    """Nothing is pushed sideways, no word of a chart is cut, and characters that steer others do not turn figures."""
    row = "東京都千代田区丸の内一丁目,\u202egnp.exe,WWWWWWWWWWWWWWWWWWWWWWWWWWWWWW,1234567.5,2025-01-01\n"
    (tmp_path / "wide.csv").write_text(f"{'x' * 90},العمر,c,revenue,when\n" + row * 9 + "b,b,d,9.5,2025-03-01\n")
    recipe = Catalog().find("quick-look")
    with place.session() as desk:
        run_all(desk, recipe, {"data": tmp_path / "wide.csv"})
        html = (desk.work / "artifacts/quick_look.html").read_text()
    assert "\u202e" not in html
    with open_browser(width) as watched:
        watched.page.set_content(html)
        assert watched.page.evaluate(
            "[document.documentElement, ...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)"
        )
        assert watched.page.evaluate(
            """[...document.querySelectorAll('svg text')].filter(t => {
                const box = t.getBBox(), room = t.ownerSVGElement.viewBox.baseVal
                return box.x < -1 || box.x + box.width > room.width + 1 }).map(t => t.textContent)"""
        ) == []  # fmt: skip
        assert watched.asked == []
