"""Ways to get a wrong result from the cache, or to hang at it, that are closed."""

import os
from pathlib import Path

from fakes.kitchen import Kitchen, Observer
from flows.release import sweep
from run_record import Question, RunId, Sha256
from tasks.manifest import Entry, Manifests
from tasks.read_set import ReadSet
from three_tools.policy import PERSON, Context
from three_tools.run import join_run

INPUT = '[inputs.data]\nfile = "data.csv"\n'


def csv(kitchen: Kitchen, text: str) -> dict[str, Path]:
    path = kitchen.top / "given.csv"
    path.write_text(text)
    return {"data": path}


def test_a_replayed_cell_finds_the_files_as_they_were_before_it(kitchen: Kitchen) -> None:
    """What later cells made of a file does not get into the variables of one that is run again."""
    cells = {
        "load": 'open("state.txt", "w").write("1")',
        "take": 'state = open("state.txt").read()\nopen("taken.txt", "w").write(state)',
        "move": 'open("state.txt", "w").write("2")',
        "use": 'open("used.txt", "w").write(state)',
    }
    kitchen.write("moves", cells)
    kitchen.run("moves")
    kitchen.write("moves", {**cells, "use": f'{cells["use"]}\nprint("changed")'})
    ran = kitchen.run("moves")
    assert ran.cached() == {"load": True, "take": True, "move": True, "use": False}
    assert (ran.file("used.txt"), ran.file("state.txt"), ran.file("taken.txt")) == (b"1", b"2", b"1")


def test_an_empty_folder_is_brought_back(kitchen: Kitchen) -> None:
    """A cell that was taken over had made it for the next, which runs."""
    cells = {"make": 'import os\nos.mkdir("charts")', "fill": 'open("charts/a.txt", "w").write("a")'}
    kitchen.write("folders", cells)
    kitchen.run("folders")
    kitchen.write("folders", {**cells, "fill": 'open("charts/a.txt", "w").write("b")'})
    ran = kitchen.run("folders")
    assert ran.error is None
    assert ran.cached() == {"make": True, "fill": False}
    assert ran.file("charts/a.txt") == b"b"


def test_a_replayed_cell_finds_no_folder_that_it_made(kitchen: Kitchen) -> None:
    """Neither empty nor with what later cells put there; afterwards all is as it was."""
    cells = {
        "make": 'from pathlib import Path\n(base := Path("base")).mkdir()\n(full := Path("full")).mkdir()',
        "fill": 'open("full/a.txt", "w").write("a")',
        "use": 'open("out.txt", "w").write(str((base.is_dir(), full.is_dir())))',
    }
    kitchen.write("makes", cells)
    kitchen.run("makes")
    kitchen.write("makes", {**cells, "use": f"{cells['use']}\nprint()"})
    ran = kitchen.run("makes")
    assert ran.error is None
    assert ran.cached() == {"make": True, "fill": True, "use": False}
    assert (ran.file("out.txt"), ran.file("full/a.txt")) == (b"(True, True)", b"a")
    assert (ran.folder / "tmp" / "base").is_dir()


def test_a_folder_that_was_there_counts_though_it_is_empty(kitchen: Kitchen) -> None:
    """A cell that asks for it runs again when it is not made any more."""
    cells = {
        "maybe": 'import os\nif "1" in open("data.csv").read():\n    os.mkdir("charts")',
        "asks": 'import os\nopen("out.txt", "w").write(str(os.path.isdir("char" + "ts")))',
    }
    kitchen.write("asks", cells, INPUT)
    assert kitchen.run("asks", files=csv(kitchen, "n\n1\n")).file("out.txt") == b"True"
    assert kitchen.run("asks", files=csv(kitchen, "n\n2\n")).file("out.txt") == b"False"
    again = kitchen.run("asks", files=csv(kitchen, "n\n1\n"))
    assert again.cached() == {"maybe": True, "asks": True}
    assert again.file("out.txt") == b"True"


def test_a_cell_that_takes_an_empty_folder_away_is_kept_for_nobody(kitchen: Kitchen) -> None:
    """Taken over, it would leave the folder there for those after it."""
    cells = {
        "make": 'import os\nos.mkdir("charts")',
        "drop": 'import os\nos.rmdir("charts")',
        "asks": 'import os\nopen("out.txt", "w").write(str(os.path.isdir("charts")))',
    }
    kitchen.write("drops", cells)
    kitchen.run("drops")
    again = kitchen.run("drops")
    assert again.cached() == {"make": True, "drop": False, "asks": True}
    assert again.file("out.txt") == b"False"


def test_what_others_take_away_beside_a_cell_is_not_its_doing(kitchen: Kitchen) -> None:
    """Where the cell is taken over, the file stays."""
    kitchen.write("beside", {"make": 'open("a.txt", "w").write("a")', "cell": 'open("b.txt", "w").write("b")'})
    watch = Observer()

    def on_began(name: str) -> None:
        if name == "cell":
            (kitchen.home.folder(RunId(watch.run_id)) / "tmp" / "a.txt").unlink()

    watch.on_began = on_began
    assert "a.txt" not in kitchen.run("beside", watch).state.files
    again = kitchen.run("beside")
    assert again.cached() == {"make": True, "cell": True}
    assert again.file("a.txt") == b"a"


MAYBE = 'import os\nif "1" in open("data.csv").read():\n    {0}'
FILE, FOLDER = MAYBE.format('open("extra.txt", "w").write("a\\n1\\n")'), MAYBE.format('os.mkdir("charts")')
ABSENT = {
    "remove": (FILE, "os.remove(name)"),
    "unlink": (FILE, "Path(name).unlink()"),
    "rename": (FILE, 'os.rename(name, "moved.txt")'),
    "truncate": (FILE, "os.truncate(name, 1)"),
    "chmod": (FILE, "os.chmod(name, 0o600)"),
    "utime": (FILE, "os.utime(name)"),
    "statvfs": (FILE, "os.statvfs(name)"),
    "listxattr": (FILE, "os.listxattr(name)"),
    "posix": (FILE, "posix.stat(name)"),
    "in a folder": (FILE, 'os.stat(name, dir_fd=os.open(".", os.O_RDONLY))'),
    "numpy": (FILE, 'np.fromfile(name, dtype="u1")'),
    "pandas": (FILE, "pd.read_csv(name)"),
    "chdir": (FOLDER, "os.chdir(folder)\n    os.chdir('..')"),
    "listdir": (FOLDER, "os.listdir(folder)"),
    "write beneath": (FOLDER, 'open(folder + "/x.txt", "w").close()'),
}


def test_every_call_that_fails_without_its_path_counts(kitchen: Kitchen) -> None:
    """Whatever a cell asks an absent path for, it runs again when that is there."""
    ask = (
        "import os, posix\nfrom pathlib import Path\nimport numpy as np\nimport pandas as pd\n"
        'name, folder = "ex" + "tra.txt", "char" + "ts"\ntry:\n    {0}\n    found = "there"\n'
        'except OSError:\n    found = "absent"\nopen("out.txt", "w").write(found)'
    )
    given, other = csv(kitchen, "n\n2\n"), kitchen.top / "other.csv"
    other.write_text("n\n1\n")
    for how, (maybe, call) in ABSENT.items():
        kitchen.write("asks", {"maybe": maybe, "asks": ask.format(call)}, INPUT)
        found = [kitchen.run("asks", files={"data": data}).file("out.txt") for data in (given["data"], other)]
        if found != [b"absent", b"there"]:  # some walls refuse the call, whatever is there
            anew = [kitchen.run("asks", files={"data": data}, refresh=True) for data in (given["data"], other)]
            assert found == [ran.file("out.txt") for ran in anew], how


def test_files_of_a_cells_own_do_not_keep_it_from_the_cache(kitchen: Kitchen) -> None:
    """It may write through a temporary name, ask for what it made, and take it away again."""
    writes = (
        'import os, shutil\nos.makedirs("deep/er", exist_ok=True)\n'
        'open("deep/new.tmp", "w").write("a")\nassert os.path.exists("deep/new.tmp")\n'
        'os.replace("deep/new.tmp", "deep/new.txt")\nos.mkdir("scratch")\nopen("scratch/x", "w").close()\n'
        'shutil.rmtree("scratch")'
    )
    kitchen.write("writes", {"a": writes})
    kitchen.run("writes")
    assert kitchen.run("writes").cached() == {"a": True}


SCRATCH = {
    "sqlite": (
        'import sqlite3\nwith sqlite3.connect(path) as con:\n    table.to_sql("t", con)',
        'import sqlite3\nwith sqlite3.connect(path) as con:\n    seen = pd.read_sql("select n from t", con)',
    ),
    "parquet": ("table.to_parquet(path)", "seen = pd.read_parquet(path)"),
    "csv": ("table.to_csv(path)", 'seen = pd.read_csv(path)[["n"]]'),
    "exists": ("if table.n[0] > 1: open(path, 'w').close()", "seen = pd.DataFrame({'n': [1 + os.path.exists(path)]})"),
}


def test_what_an_earlier_cell_left_in_the_scratch_folder(kitchen: Kitchen) -> None:
    """It is there in a second run, and is what it is in the run, however it is read."""
    head = 'import os, tempfile\nimport pandas as pd\npath = os.path.join(tempfile.gettempdir(), "x")\n'
    for how, (write, read) in SCRATCH.items():
        cells = {
            "write": f'{head}table = pd.read_csv("data.csv")\n{write}\ndel table, path',
            "read": f'{head}{read}\nseen.to_csv("seen.csv", index=False)',
        }
        kitchen.write("scratch", cells, INPUT)
        for number in (1, 1, 2):
            ran = kitchen.run("scratch", files=csv(kitchen, f"n\n{number}\n"))
            assert (ran.error, ran.file("seen.csv")) == (None, f"n\n{number}\n".encode()), how


def test_scratch_files_of_its_own_do_not_keep_a_cell_from_the_cache(kitchen: Kitchen) -> None:
    """They are gone when it ends."""
    uses = (
        "import os, sqlite3, tempfile\nwith tempfile.TemporaryDirectory() as folder:\n"
        '    path = os.path.join(folder, "a")\n    open(path, "w").write("a")\n    os.rename(path, path + "b")\n'
        '    text = open(path + "b").read()\n    sqlite3.connect(path).execute("create table t (n)")\n'
        '    assert os.path.exists(path)\nopen("a.txt", "w").write(text)'
    )
    kitchen.write("scratch", {"a": uses})
    kitchen.run("scratch")
    assert kitchen.run("scratch").cached() == {"a": True}


def test_a_library_that_is_not_there_makes_no_cell_depend_on_all_files(kitchen: Kitchen) -> None:
    """It runs again when a module of that name is there, and not when any other file is."""
    cells = {
        "maybe": 'name = open("data.csv").read().split()[1]\nopen(f"{name}.py", "w").write("x = 1")\ndel name',
        "asks": (
            "import importlib.util\nfound = importlib.util.find_spec('seldom_there') is not None\n"
            'open("out.txt", "w").write(str(found))'
        ),
    }
    kitchen.write("asks", cells, INPUT)
    kitchen.run("asks", files=csv(kitchen, "n\na\n"))
    other = kitchen.run("asks", files=csv(kitchen, "n\nb\n"))
    assert other.cached() == {"maybe": False, "asks": True}
    found = kitchen.run("asks", files=csv(kitchen, "n\nseldom_there\n"))
    assert (found.cached()["asks"], found.file("out.txt")) == (False, b"True")


def test_a_file_that_says_where_its_run_lies_is_kept_for_nobody(kitchen: Kitchen) -> None:
    """A list of absolute paths leads the next cell of another run to where it may not go."""
    cells = {
        "list": 'import json, os\njson.dump([os.path.abspath("data.csv")], open("paths.json", "w"))',
        "use": 'import json\nopen("out.txt", "w").write(open(json.load(open("paths.json"))[0]).read())',
    }
    kitchen.write("lists", cells, INPUT)
    kitchen.run("lists", files=csv(kitchen, "n\n1\n"))
    ran = kitchen.run("lists", files=csv(kitchen, "n\n2\n"))
    assert (ran.error, ran.cached()["list"], ran.file("out.txt")) == (None, False, b"n\n2\n")


def test_pyplots_own_figures_end_with_their_cell(kitchen: Kitchen) -> None:
    """With a backend that would keep them too, so that no later cell depends on them."""
    cells = {
        "draw": (
            'import matplotlib\nmatplotlib.use("Agg")\nimport matplotlib.pyplot as plt\n'
            'fig, ax = plt.subplots()\nax.plot([1, 2])\nopen("a.txt", "w").write(str(plt.get_fignums()))'
        ),
        "look": 'open("b.txt", "w").write(f"{plt.get_fignums()} {len(ax.lines)}")',
    }
    kitchen.write("draws", cells)
    ran = kitchen.run("draws")
    assert (ran.file("a.txt"), ran.file("b.txt")) == (b"[1]", b"[] 1")


def test_what_nobody_saw_is_kept_for_nobody_nor_what_is_made_of_its_variables(kitchen: Kitchen) -> None:
    """A program that a cell starts may read anything; so may what is behind a link."""
    cells = {
        "program": 'import subprocess\nseen = subprocess.run(["cat", "data.csv"], capture_output=True).stdout',
        "link": 'import os\nos.symlink("data.csv", "link.csv")',
        "uses": 'open("uses.txt", "wb").write(seen)',
        "apart": 'open("apart.txt", "w").write("apart")',
    }
    kitchen.write("unseen", cells, INPUT)
    kitchen.run("unseen", files=csv(kitchen, "n\n1\n"))
    ran = kitchen.run("unseen", files=csv(kitchen, "n\n1\n"))
    assert ran.cached() == {"program": False, "link": False, "uses": False, "apart": True}


def test_a_manifest_that_leads_to_another_steps_result(kitchen: Kitchen) -> None:
    """It is whole, and lies where it was kept, and is not this step's."""
    kitchen.write("two", {"a": 'open("a.txt", "w").write("a")', "b": 'open("b.txt", "w").write("b")'})
    kitchen.run("two")
    folder = kitchen.top / "home" / "cache" / "manifests"
    a, b = sorted(folder.rglob("*.json"))
    first, second = (path.read_bytes() for path in (a, b))
    a.write_bytes(second)
    b.write_bytes(first)
    ran = kitchen.run("two")
    assert ran.cached() == {"a": False, "b": False}
    assert (ran.file("a.txt"), ran.file("b.txt")) == (b"a", b"b")
    assert any("is of another step" in note for note in ran.notes)


def test_a_manifest_that_leads_out_of_the_cache(tmp_path: Path) -> None:
    """Its key is no sha256, so it knows nothing."""
    basis, manifests = Sha256("a" * 64), Manifests(tmp_path)
    manifests.add(basis, Entry(key=basis, reads=ReadSet(files={}, folders={})))
    (page,) = tmp_path.rglob("*.json")
    page.write_text(page.read_text().replace(basis, "../../etc/passwd"))
    assert manifests.find(basis, {}) is None


def test_what_is_no_plain_file_in_the_cache_does_not_hold_a_run_up(kitchen: Kitchen) -> None:
    """Fifos, folders and links where results, manifests and locks were: the step is run again."""
    kitchen.write("made", {"a": 'open("a.txt", "w").write("a")'})
    cache = kitchen.top / "home" / "cache"
    for what in (os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)):
        for kind in ("results", "manifests", "locks"):
            assert kitchen.run("made", refresh=True).error is None
            for path in [each for each in (cache / kind).rglob("*") if each.is_file()]:
                path.unlink()
                what(path)
            ran = kitchen.run("made")
            assert ran.error is None
            assert ran.file("a.txt") == b"a"


def test_a_sweep_beside_a_run_leaves_it_alone(kitchen: Kitchen) -> None:
    """Its record is not opened: that would look like the cell's reading of CEL.md, and keep it from the cache."""
    kitchen.write("swept", {"slow": 'import time\ntime.sleep(1)\nopen("a.txt", "w").write("a")'})

    def on_began(name: str) -> None:
        if name == "slow":
            sweep(kitchen.workshop(Observer()))

    assert kitchen.run("swept", Observer(on_began=on_began)).error is None
    assert kitchen.run("swept").cached() == {"slow": True}


def test_a_sweep_leaves_the_session_of_a_run_by_hand_alone(kitchen: Kitchen) -> None:
    """Nobody runs it between two calls, and its variables are for the next."""
    shop = kitchen.workshop(Observer())
    run_id = kitchen.home.create_run(Question(objective="Where?", by="anna")).state.opened.run_id
    with join_run(kitchen.home, shop.equip(None), run_id, Context(PERSON), as_runner="anna") as run:
        run.call("sandbox.exec", {"code": "x = 1"})
    sweep(shop)
    with join_run(kitchen.home, shop.equip(None), run_id, Context(PERSON), as_runner="anna") as run:
        assert run.call("sandbox.exec", {"code": "x"}).outcome.ok
        run.end("done")
