"""When a step is run again and when it is taken over, and that what is taken over is what was kept."""

import json
import shutil
from pathlib import Path

from fakes.kitchen import Kitchen, Ran
from recipes.library import library
from sandbox import HostSettings, LocalJail

INPUT = '[inputs.data]\nfile = "data.csv"\n'


def csv(kitchen: Kitchen, name: str, text: str) -> Path:
    path = kitchen.top / name
    path.write_text(text)
    return path


def test_the_same_again_is_taken_over_with_its_files(kitchen: Kitchen) -> None:
    """A second run runs no cell, has the same bytes, and says in CEL whose they are."""
    kitchen.write("twice", {"make": 'import os\nopen("made.txt", "w").write(os.urandom(8).hex())\nprint("made")'})
    first, second = kitchen.run("twice"), kitchen.run("twice")
    assert second.cached() == {"make": True}
    assert second.file("made.txt") == first.file("made.txt")
    assert f"took over what run {first.run_id} did" in second.cel
    assert second.file("notebook.ipynb") == first.file("notebook.ipynb")


def test_refresh_runs_everything(kitchen: Kitchen) -> None:
    """With refresh nothing is taken over, and later runs have the new result."""
    kitchen.write("twice", {"make": 'import os\nopen("made.txt", "w").write(os.urandom(8).hex())'})
    first, fresh = kitchen.run("twice"), kitchen.run("twice", refresh=True)
    assert fresh.cached() == {"make": False}
    assert fresh.file("made.txt") != first.file("made.txt")
    assert kitchen.run("twice").file("made.txt") == fresh.file("made.txt")


def test_a_file_read_without_declaring_it_counts(kitchen: Kitchen) -> None:
    """A parquet file that a cell reads, whose name stands nowhere in its code, makes it run again when it changes."""
    cells = {
        "write": 'import pandas as pd\npd.read_csv("data.csv").to_parquet("part_1.parquet")',
        "read": (
            "import glob\nimport pandas as pd\n"
            'name = "part" + "_1" + ".parquet"\nopen("sum.txt", "w").write(str(pd.read_parquet(name).n.sum()))'
        ),
        "apart": 'open("apart.txt", "w").write("no file is read")',
    }
    kitchen.write("parts", cells, INPUT)
    kitchen.run("parts", files={"data": csv(kitchen, "a.csv", "n\n1\n2\n")})
    ran = kitchen.run("parts", files={"data": csv(kitchen, "b.csv", "n\n1\n5\n")})
    assert ran.cached() == {"write": False, "read": False, "apart": True}
    assert ran.file("sum.txt") == b"6"
    back = kitchen.run("parts", files={"data": csv(kitchen, "a.csv", "n\n1\n2\n")})
    assert back.cached() == {"write": True, "read": True, "apart": True}
    assert back.file("sum.txt") == b"3"


CHOOSES = {
    "config": 'import pandas as pd\nt = pd.read_csv("data.csv")\nimport json\njson.dump({"file": t.file[0]}, open("config.json", "w"))',
    "sides": (
        'import pandas as pd\nt = pd.read_csv("data.csv")\n'
        'open("left.txt", "w").write(str(t.left[0]))\nopen("right.txt", "w").write(str(t.right[0]))'
    ),
    "choose": 'import json\nname = json.load(open("config.json"))["file"]\nopen("out.txt", "w").write(open(name).read())',
}


def choose(kitchen: Kitchen, file: str, left: int, right: int) -> Ran:
    data = csv(kitchen, "data.csv", f"file,left,right\n{file},{left},{right}\n")
    return kitchen.run("chooses", files={"data": data})


def test_a_config_that_decides_which_file_is_read(kitchen: Kitchen) -> None:
    """A cell runs again when the config or the chosen file changes, and not when the other file does."""
    kitchen.write("chooses", CHOOSES, INPUT)
    choose(kitchen, "left.txt", 1, 2)
    assert choose(kitchen, "left.txt", 1, 3).cached()["choose"], "the file that was not chosen has changed"
    other = choose(kitchen, "right.txt", 1, 3)
    assert not other.cached()["choose"]
    assert other.file("out.txt") == b"3"
    assert choose(kitchen, "left.txt", 1, 9).cached()["choose"], "as it was chosen before"
    changed = choose(kitchen, "left.txt", 7, 9)
    assert not changed.cached()["choose"]
    assert changed.file("out.txt") == b"7"


LOOKS = {
    "maybe": ('import pandas as pd\nif pd.read_csv("data.csv").there[0]:\n    open("extra.txt", "w").write("extra")'),
    "open": 'try:\n    text = open("extra" + ".txt").read()\nexcept FileNotFoundError:\n    text = "none"\nopen("a.txt", "w").write(text)',
    "exists": 'import os\nopen("b.txt", "w").write(str(os.path.exists("ex" + "tra.txt")))',
    "path": 'from pathlib import Path\nopen("c.txt", "w").write(str(Path("ex" + "tra.txt").is_file()))',
    "glob": 'import glob\nopen("d.txt", "w").write(str(sorted(glob.glob("ext*"))))',
    "blind": 'open("e.txt", "w").write("looks at nothing")',
}


def test_a_file_that_was_not_there_counts(kitchen: Kitchen) -> None:
    """Cells that behave differently when a file is absent run again when it appears or goes, however they looked."""
    kitchen.write("looks", LOOKS, INPUT)
    without, with_it = (csv(kitchen, f"{there}.csv", f"there\n{there}\n") for there in (0, 1))
    kitchen.run("looks", files={"data": without})
    ran = kitchen.run("looks", files={"data": with_it})
    looking = ("maybe", "open", "exists", "path", "glob")
    assert ran.cached() == {**dict.fromkeys(looking, False), "blind": True}
    assert [ran.file(f"{name}.txt") for name in "abcd"] == [b"extra", b"True", b"True", b"['extra.txt']"]
    back = kitchen.run("looks", files={"data": without})
    assert back.cached() == dict.fromkeys((*looking, "blind"), True)
    assert [back.file(f"{name}.txt") for name in "abcd"] == [b"none", b"False", b"False", b"[]"]


def test_a_file_that_a_cell_makes_when_it_is_absent(kitchen: Kitchen) -> None:
    """Whether a file was there counts too when the cell then makes it itself."""
    builds = 'import os\nif not os.path.exists("cache.txt"):\n    open("cache.txt", "w").write("built")\n'
    cells = {
        "maybe": 'import pandas as pd\nif pd.read_csv("data.csv").there[0]:\n    open("cache.txt", "w").write("given")',
        "build": f'{builds}open("out.txt", "w").write(open("cache.txt").read())',
    }
    kitchen.write("builds", cells, INPUT)
    assert kitchen.run("builds", files={"data": csv(kitchen, "0.csv", "there\n0\n")}).file("out.txt") == b"built"
    assert kitchen.run("builds", files={"data": csv(kitchen, "1.csv", "there\n1\n")}).file("out.txt") == b"given"


def test_only_what_depends_on_a_changed_cell_runs_again(kitchen: Kitchen) -> None:
    """Through files and through variables; a change that changes nothing, such as a blank line, is none."""
    cells = {
        "a": 'base = 2\nopen("a.txt", "w").write("2")',
        "b": 'open("b.txt", "w").write(open("a.txt").read() * 2)',
        "c": 'double = base * 2\nopen("c.txt", "w").write(str(double))',
        "d": 'open("d.txt", "w").write("alone")',
    }
    kitchen.write("chain", cells)
    kitchen.run("chain")
    kitchen.write("chain", {**cells, "b": f"{cells['b']}  \n\n"})
    assert set(kitchen.run("chain").cached().values()) == {True}
    kitchen.write("chain", {**cells, "a": 'base = 3\nopen("a.txt", "w").write("2")'})
    ran = kitchen.run("chain")
    assert ran.cached() == {"a": False, "b": True, "c": False, "d": True}
    assert ran.file("c.txt") == b"6"


def test_variables_of_cells_that_were_taken_over_are_there_for_one_that_is_not(kitchen: Kitchen) -> None:
    """The cells whose variables a changed cell uses are run again first, which is part of its step; others are not."""
    cells = {
        "a": 'numbers = [1]\nopen("a.txt", "a").write("a")',
        "b": 'numbers.append(2)\nopen("b.txt", "w").write(str(numbers))',
        "c": 'open("c.txt", "w").write("alone")',
        "d": 'open("d.txt", "w").write(str(sum(numbers)))',
    }
    kitchen.write("shares", cells)
    kitchen.run("shares")
    kitchen.write("shares", {**cells, "d": 'open("d.txt", "w").write(str(sum(numbers) * 10))'})
    ran = kitchen.run("shares")
    assert ran.cached() == {"a": True, "b": True, "c": True, "d": False}
    assert ran.file("d.txt") == b"30"
    assert ran.file("a.txt") == b"a", "what running it again did to the files is put back"
    assert "ran again for their variables: a, b" in ran.cel.replace("\\", "")


def test_clock_parameters_and_seed_count_where_they_are_read(kitchen: Kitchen) -> None:
    """Another day or another parameter runs those cells again that read it, and no others."""
    cells = {
        "day": 'from recipes.kit import run\nopen("day.txt", "w").write(run.as_of)',
        "factor": 'from recipes.kit import run\nopen("factor.txt", "w").write(str(run.parameters.factor))',
        "alone": 'open("alone.txt", "w").write("1")',
    }
    kitchen.write("reads", cells, '[parameters.factor]\ntype = "integer"\ndefault = 2\n')
    kitchen.run("reads", as_of="2026-01-01")
    ran = kitchen.run("reads", as_of="2026-01-02")
    assert ran.cached() == {"day": False, "factor": True, "alone": True}
    assert ran.file("day.txt") == b"2026-01-02"
    ran = kitchen.run("reads", as_of="2026-01-02", parameters={"factor": 3})
    assert ran.cached() == {"day": True, "factor": False, "alone": True}
    assert ran.file("factor.txt") == b"3"
    assert set(kitchen.run("reads", as_of="2026-01-01", seed=1).cached().values()) == {False}


def test_random_numbers_do_not_depend_on_what_was_taken_over(kitchen: Kitchen) -> None:
    """Each cell draws the same numbers whether the cells before it were run or not."""
    draw = 'import random\nimport numpy as np\nopen("{0}.txt", "w").write(str((random.random(), np.random.rand())))'
    cells = {"a": draw.format("a"), "b": draw.format("b")}
    kitchen.write("draws", cells)
    first = kitchen.run("draws")
    assert first.file("a.txt") != first.file("b.txt")
    kitchen.write("draws", {**cells, "b": f"{cells['b']}\nprint()"})
    second = kitchen.run("draws")
    assert second.cached() == {"a": True, "b": False}
    assert second.file("b.txt") == first.file("b.txt")


def test_another_kit_runs_everything_again(kitchen: Kitchen, tmp_path: Path) -> None:
    """A change in what cells import from us is a change of every cell."""
    kitchen.write("kits", {"a": 'from recipes.kit import words\nopen("a.txt", "w").write(words.count(2, "row"))'})
    kitchen.run("kits")
    changed = tmp_path / "kit"
    shutil.copytree(library()["recipes/kit"], changed)
    with (changed / "words.py").open("a") as words:
        words.write("\n\ndef count(number, noun):\n    return 'changed'\n")
    other = LocalJail(
        kitchen.top / "other", HostSettings(host_idle_s=5), libraries={**library(), "recipes/kit": changed}
    )
    try:
        ran = kitchen.run("kits", jail=other)
    finally:
        other.stop()
    assert ran.cached() == {"a": False}
    assert ran.file("a.txt") == b"changed"
    assert kitchen.run("kits").cached() == {"a": True}


MADE = {"a": 'open("a.txt", "w").write("from a")', "b": 'open("b.txt", "w").write("from b")'}


def test_a_kept_result_that_was_changed_is_run_again(kitchen: Kitchen) -> None:
    """An entry whose sha256 is another, that is not JSON, or lies in another's place is a miss, and CEL says so."""
    kitchen.write("made", MADE)
    for spoil in (edit, swap, cut, reserialize):
        assert kitchen.run("made", refresh=True).error is None
        spoil(*kitchen.kept())
        ran = kitchen.run("made")
        assert ran.error is None
        assert False in ran.cached().values(), spoil.__name__
        assert (ran.file("a.txt"), ran.file("b.txt")) == (b"from a", b"from b")
        assert any("is run again" in note for note in ran.notes)
        assert "is run again" in ran.cel
        assert set(kitchen.run("made").cached().values()) == {True}


def edit(first: Path, *_others: Path) -> None:
    """Have it name other bytes, as somebody would who wants another result."""
    text = first.read_text()
    assert "from a" not in text
    first.write_text(text.replace("a.txt", "c.txt") if "a.txt" in text else text.replace("b.txt", "c.txt"))


def swap(first: Path, second: Path) -> None:
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)


def cut(first: Path, *_others: Path) -> None:
    first.write_bytes(first.read_bytes()[:100])


def reserialize(first: Path, *_others: Path) -> None:
    """Name a serializer that runs whatever it reads."""
    record = json.loads(first.read_text())
    record["metadata"]["serializer"] = {"type": "pickle", "picklelib": "cloudpickle", "compressionlib": None}
    first.write_text(json.dumps(record))


def test_what_a_cell_shows_is_never_made_an_object(kitchen: Kitchen) -> None:
    """Prefect's decoder would import the class that a piece of JSON names; a cell cannot get it to."""
    shows = 'from IPython.display import JSON\nJSON({"__class__": "pathlib.Path", "data": "/"})'
    kitchen.write("shows", {"a": shows})
    first, second = kitchen.run("shows"), kitchen.run("shows")
    assert second.error is None
    assert second.cached() == {"a": True}
    assert second.file("notebook.ipynb") == first.file("notebook.ipynb")


def test_an_object_that_is_missing_or_damaged_means_run_again(kitchen: Kitchen) -> None:
    """There is never a silent gap: what cannot be put back is made again, and CEL says why."""
    kitchen.write("made", MADE)
    first = kitchen.run("made")
    kitchen.home.objects.path(first.state.files["a.txt"].artifact.sha256).unlink()
    damaged = kitchen.home.objects.path(first.state.files["b.txt"].artifact.sha256)
    damaged.chmod(0o600)
    damaged.write_text("from X")
    ran = kitchen.run("made")
    assert ran.error is None
    assert ran.cached() == {"a": False, "b": False}
    assert (ran.file("a.txt"), ran.file("b.txt")) == (b"from a", b"from b")
    assert sum("is run again" in note for note in ran.notes) == 2
    assert set(kitchen.run("made").cached().values()) == {True}


def test_two_identical_runs_at_once_do_each_cell_once(kitchen: Kitchen) -> None:
    """The second waits for what the first is doing, and takes it over."""
    slow = 'import os, time\ntime.sleep(0.5)\nopen("{0}.txt", "w").write(os.urandom(8).hex())'
    kitchen.write("slow", {"a": slow.format("a"), "b": slow.format("b")})
    first, second = kitchen.run_at_once("slow", 2)
    assert (first.error, second.error) == (None, None)
    for name in ("a", "b"):
        assert sorted([first.cached()[name], second.cached()[name]]) == [False, True]
        assert first.file(f"{name}.txt") == second.file(f"{name}.txt")


def test_cells_that_list_the_folder_or_read_the_log(kitchen: Kitchen) -> None:
    """A listing counts; a cell that reads CEL.md, which differs in every run, is never taken over."""
    cells = {
        "lists": 'import os\nopen("names.txt", "w").write(str(sorted(os.listdir())))',
        "log": 'open("log.txt", "w").write(str(len(open("CEL.md").read()) > 0))',
    }
    kitchen.write("lists", cells, INPUT)
    data = csv(kitchen, "data.csv", "n\n1\n")
    kitchen.run("lists", files={"data": data})
    assert kitchen.run("lists", files={"data": data}).cached() == {"lists": True, "log": False}


def test_a_bad_key_is_loud() -> None:
    """What cannot be part of a cache key raises, instead of switching the cache off."""
    import pytest

    from tasks.step import digest

    for value in ({1, 2}, b"bytes", {1: "a"}, float("nan"), Path("a"), object()):
        with pytest.raises((TypeError, ValueError)):
            digest({"value": value})
    assert digest({"a": 1, "b": [1.5, None, True]}) == digest({"b": (1.5, None, True), "a": 1})
    assert json.dumps("") == '""'
