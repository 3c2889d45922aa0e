"""What of the run a cell reads: its result may be kept for as long as that stays the same."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from recipes.cell_names import CellNames

_RUN = "recipes.kit.run"
_OURS = "recipes"
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


def reads_of_run(cell: CellNames, imports: Mapping[str, str]) -> RunReads:
    """What this cell's own code reads. `imports`: what imported names stand for, in all cells."""
    if cell.touches_everything or any(_leads_there(origin) for origin in cell.imports.values()):
        return RunReads(everything=True)
    local = _imports_within(cell.tree)
    runs = {name for name, origin in {**imports, **local}.items() if origin == _RUN}
    others = {name for name, origin in {**imports, **local}.items() if _leads_there(origin)}
    parts = list(_parts(cell.tree, runs))
    used = {node.id for node in ast.walk(cell.tree) if isinstance(node, ast.Name)}
    return RunReads(
        parameters=frozenset(part.removeprefix("parameters.") for part in parts if part.startswith("parameters.")),
        all_parameters="parameters" in parts,
        as_of="as_of" in parts,
        objective="objective" in parts,
        seed="seed" in parts,
        inputs="inputs" in parts,
        everything="" in parts or not used.isdisjoint(others),
    )


def _leads_there(origin: str) -> bool:
    """Packages and modules through which `run` can be had without its name: `import recipes.kit as kit`."""
    return origin in (_OURS, "recipes.kit", "recipes.kit.current_run") or origin.startswith("recipes.kit.current_run.")


def _imports_within(tree: ast.AST) -> dict[str, str]:
    """Also those in functions, which bind no name of the cell."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module or ''}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
    return found


def _parts(node: ast.AST, runs: set[str]) -> Iterator[str]:
    """as_of, parameters.top_n, parameters for all of them, and "" where `run` itself is handed on."""
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="parameters"), attr=parameter) if (
            name in runs
        ):
            # Methods of a mapping (keys, items, get) see all of it.
            yield "parameters" if parameter in ("get", "items", "keys", "values") else f"parameters.{parameter}"
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
