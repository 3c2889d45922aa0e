"""The house itself: rooms, locks, names."""

import configparser
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = {"partner", "flows", "agent_runtime", "tasks", "three_tools", "run_record", "sandbox", "recipes"}
LOCKS = {
    "requirements.lock": PYPROJECT["project"]["dependencies"] + PYPROJECT["dependency-groups"]["build"],
    "requirements-dev.lock": [*PYPROJECT["project"]["dependencies"], *PYPROJECT["dependency-groups"]["dev"]],
    "requirements-sandbox.lock": PYPROJECT["project"]["optional-dependencies"]["sandbox"],
}


def built_rooms() -> set[str]:
    return {path.parent.name for path in ROOT.glob("*/__init__.py")}


def test_every_package_is_a_room_of_the_design() -> None:
    """Top-level packages are the rooms of the design, and none is an empty placeholder."""
    assert built_rooms() <= ROOMS
    for room in built_rooms():
        assert len(list((ROOT / room).rglob("*.py"))) > 1, f"{room} is empty"


def test_what_is_built_is_packaged_linted_and_typed() -> None:
    """A room that exists is in the wheel, in import-linter's roots and in pyright's reach."""
    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter")
    assert set(PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == built_rooms()
    assert set(linter["importlinter"]["root_packages"].split()) == built_rooms()
    assert set(PYPROJECT["tool"]["basedpyright"]["include"]) == built_rooms()


def test_the_kit_is_forbidden_every_other_module_of_its_room() -> None:
    """It is published alone: a module that comes to recipes/ comes to the kit's contract too."""
    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter")
    others = {f"recipes.{path.stem}" for path in (ROOT / "recipes").glob("*.py")} - {"recipes.__init__"}
    assert others <= set(linter["importlinter:contract:kit"]["forbidden_modules"].split())


def test_no_dependency_brings_a_package_of_our_names() -> None:
    """`flows` and `tasks` exist on the package index: nobody but us may install one of our names."""
    installed = packages_distributions()
    for room in ROOMS:
        assert set(installed.get(room, [])) <= {"decision-partner"}


def test_no_folder_of_tests_shadows_a_room() -> None:
    """No __init__.py below tests/: a tests/sandbox package would shadow the real one."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


@pytest.mark.parametrize("name", LOCKS)
def test_locks_pin_every_file_by_hash_and_name_no_host(name: str) -> None:
    """Every locked package has an exact version and hashes; no URL, index or host is named."""
    text = (ROOT / name).read_text()
    assert not re.search(r"https?:|://|index-url|find-links|@ ", text)
    packages = re.findall(
        r"^([a-z0-9][\w.-]*==\S+(?: ;[^\\]*)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE
    )
    assert len(packages) == len(re.findall(r"^\S", text, re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_locks_satisfy_what_is_asked_for(name: str) -> None:
    """Each requirement of pyproject.toml is locked at a version that satisfies it."""
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE))
    for requirement in map(Requirement, LOCKS[name]):
        assert requirement.specifier.contains(locked[requirement.name.lower()], prereleases=True), requirement


def test_the_application_and_its_tests_agree_on_versions() -> None:
    """A package in both the application's and the development lock has the same version."""
    versions = [
        dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    ]
    assert versions[0].items() <= versions[1].items()


def test_every_dependency_says_what_it_is_for() -> None:
    """Each dependency's line in pyproject.toml ends with a comment."""
    lines = (ROOT / "pyproject.toml").read_text().split("[tool.")[0].splitlines()
    dependencies = [line for line in lines if re.match(r'    "[\w.-]+(\[.*\])?[<>=]', line)]
    assert len(dependencies) > 15
    assert [line for line in dependencies if not re.search(r"#\s+\w", line)] == []


def test_every_make_target_named_in_the_docs_exists() -> None:
    """README and CONTRIBUTING name no `make` target that the Makefile lacks."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"`make ([a-z-]+)`", (ROOT / name).read_text())) <= targets


def test_every_command_is_in_the_readme() -> None:
    """Each `partner` command is shown in README.md."""
    from partner.cli.app import app, files, recipe, sandbox

    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    names += [f"files {command.name}" for command in files.registered_commands]
    names += [f"sandbox {command.name}" for command in sandbox.registered_commands]
    names += [f"recipe {command.name}" for command in recipe.registered_commands]
    readme = (ROOT / "README.md").read_text()
    assert [name for name in names if f"partner {name}" not in readme] == []
