"""What of the run a cell reads: its result may be kept for as long as that stays the same."""

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from recipes.cell_names import CellNames
from recipes.imports import Imported, imports_in, own_packages

_RUN = "recipes.kit.run"
_OURS = "recipes"
_OF_MAPPINGS = ("get", "items", "keys", "values")
_PLAIN = ("as_of", "objective", "seed", "inputs")


@dataclass(frozen=True, slots=True)
class RunReads:
    """Parts of the run. `everything`: `run` went somewhere that cannot be followed."""

    parameters: frozenset[str] = frozenset()
    all_parameters: bool = False
    as_of: bool = False
    objective: bool = False
    seed: bool = False
    inputs: bool = False
    everything: bool = False

    @classmethod
    def together(cls, several: Iterable["RunReads"]) -> "RunReads":
        parts = list(several)
        return cls(
            parameters=frozenset[str]().union(*(part.parameters for part in parts)),
            all_parameters=any(part.all_parameters for part in parts),
            as_of=any(part.as_of for part in parts),
            objective=any(part.objective for part in parts),
            seed=any(part.seed for part in parts),
            inputs=any(part.inputs for part in parts),
            everything=any(part.everything for part in parts),
        )


@dataclass(frozen=True, slots=True)
class WaysToRun:
    """Names that stand for `run`, and names through which it can be had otherwise."""

    runs: frozenset[str]
    others: frozenset[str]


def ways_to_run(trees: Iterable[ast.AST]) -> WaysToRun:
    """In all cells together: what one imports, another uses. Modules of the run's own may import it too."""
    several = list(trees)
    own = own_packages(several)
    imported = {each for tree in several for each in imports_in(tree)}
    return WaysToRun(
        runs=frozenset(each.name for each in imported if each.origin == _RUN),
        others=frozenset(each.name for each in imported if _leads_there(each.origin) or each.package in own),
    )


def reads_of_run(cell: CellNames, ways: WaysToRun) -> RunReads:
    """What this cell's own code reads."""
    used = {node.id for node in ast.walk(cell.tree) if isinstance(node, ast.Name)}
    leads = any(each.name in ways.others for each in imports_in(cell.tree)) or not used.isdisjoint(ways.others)
    parts = list(_parts(cell.tree, ways.runs))
    return RunReads(
        parameters=frozenset(part.removeprefix("parameters.") for part in parts if part.startswith("parameters.")),
        all_parameters="parameters" in parts,
        as_of="as_of" in parts,
        objective="objective" in parts,
        seed="seed" in parts,
        inputs="inputs" in parts,
        everything="" in parts or leads or not cell.spoken.isdisjoint(ways.runs) or _imports_into_class(cell.tree),
    )


def inputs_named(cell: CellNames, ways: WaysToRun) -> frozenset[str]:
    """The inputs that its code asks for by name: run.inputs["data"], run.inputs.data."""
    return frozenset(filter(None, (_input_named(node, ways.runs) for node in ast.walk(cell.tree))))


def _input_named(node: ast.AST, runs: Collection[str]) -> str:
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="inputs"), slice=ast.Constant(value=str(wanted))
        ) if name in runs:
            return wanted
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="inputs"), attr=wanted) if name in runs:
            return "" if wanted.startswith("_") or wanted in _OF_MAPPINGS else wanted
        case _:
            return ""


def _leads_there(origin: str) -> bool:
    """Packages and modules through which `run` can be had without its name: `import recipes.kit as kit`."""
    return origin in (_OURS, "recipes.kit", "recipes.kit.current_run") or origin.startswith("recipes.kit.current_run.")


def _imports_into_class(tree: ast.AST) -> bool:
    """An attribute of a class is not followed."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return any(each.origin == _RUN for node in classes for part in node.body for each in _plainly(part))


def _plainly(node: ast.stmt) -> Iterable[Imported]:
    return imports_in(node) if isinstance(node, (ast.Import, ast.ImportFrom)) else ()


def _parts(node: ast.AST, runs: Collection[str]) -> Iterator[str]:
    """as_of, parameters.top_n, parameters for all of them, and "" where `run` itself is handed on."""
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="parameters"), attr=parameter) if (
            name in runs
        ):
            # Methods of a mapping (keys, items, get) and what lies beneath see all of it.
            is_all = parameter.startswith("_") or parameter in _OF_MAPPINGS
            yield "parameters" if is_all else f"parameters.{parameter}"
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=name), attr="parameters"), slice=ast.Constant(value=str(parameter))
        ) if name in runs:
            yield f"parameters.{parameter}"
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in runs:
            yield attribute if attribute in (*_PLAIN, "parameters") else ""
        case ast.Name(id=name) if name in runs:
            yield ""
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _parts(child, runs)
