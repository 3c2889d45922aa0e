"""How the cells of a recipe depend on each other through their variables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from recipes.cell_names import KNOWN, CellNames, names_of
from recipes.errors import RecipeNotFound, meant
from recipes.recipe import RecipeCell
from recipes.run_reads import RunReads, reads_of_run


class Dataflow:
    """Which cells must have run before another one can.

    Variables are mutable and have aliases, so cells that mention one name belong together, and so do the cells that
    these share a name with. A name that only imports bind ties nobody together: it means the same wherever it is
    bound. Cells that change a module's state, or can touch any name, are needed by every later cell.
    """

    def __init__(self, cells: Sequence[RecipeCell]) -> None:
        alone = [names_of(cell) for cell in cells]
        imported = {name for cell in alone for name in cell.imports}
        self._order = [cell.name for cell in cells]
        self._cells: Mapping[str, CellNames] = {cell.name: names_of(cell, imported) for cell in cells}

    def names(self, cell: str) -> CellNames:
        """What a cell uses and binds."""
        if cell not in self._cells:
            raise RecipeNotFound(f"there is no cell '{cell}'", meant(cell, self._order))
        return self._cells[cell]

    def needs(self, cell: str) -> tuple[str, ...]:
        """The earlier cells whose variables or module state this one may use, in order."""
        earlier = self._earlier(cell)
        found: list[str] = []
        waiting = [self.names(cell)]
        is_first = True
        while waiting:
            one = waiting.pop()
            names = one.uses if is_first else one.uses | (self._shared(one) & self._variables)
            is_first = False
            for other in earlier:
                if other.name not in found and (
                    one.touches_everything or other.touches_everything or self._gives(other, names)
                ):
                    found.append(other.name)
                    waiting.append(other)
        return self._in_order(found)

    def replay(self, cell: str, live: Collection[str]) -> tuple[str, ...]:
        """The cells to run before this one, in order, in a kernel where the `live` ones were run, in order.

        Cells that share variables are replayed together or not at all: running one of them twice, or out of its
        order, would change what the others find.
        """
        return self._in_order(
            name for group in self._groups(self.needs(cell)) if not group <= set(live) for name in group
        )

    def run_reads(self, cell: str) -> RunReads:
        """What of the run a cell reads, itself or through the code of the cells it needs."""
        several = [self.names(name) for name in (*self.needs(cell), cell)]
        imports = {name: origin for one in self._cells.values() for name, origin in one.imports.items()}
        return RunReads.together(reads_of_run(one, imports) for one in several)

    def undefined(self, cell: str) -> tuple[str, ...]:
        """Names that a cell uses and that neither an earlier cell nor itself nor Python defines."""
        before = {name for one in (*self._earlier(cell), self.names(cell)) for name in (*one.defines, *one.imports)}
        if any(one.touches_everything for one in (*self._earlier(cell), self.names(cell))):
            return ()
        return tuple(sorted(self.names(cell).uses - before - KNOWN))

    def defined_later(self, cell: str, name: str) -> str | None:
        """The later cell that defines a name, when only a later one does."""
        later = self._order[self._order.index(cell) + 1 :]
        return next(
            (other for other in later if name in {*self.names(other).defines, *self.names(other).imports}), None
        )

    def _earlier(self, cell: str) -> list[CellNames]:
        self.names(cell)
        return [self._cells[name] for name in self._order[: self._order.index(cell)]]

    def _in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(set(names), key=self._order.index))

    def _gives(self, giver: CellNames, names: Collection[str]) -> bool:
        if giver.changes_modules:
            return True
        if not self._pure_imports.isdisjoint(set(giver.imports).intersection(names)):
            return True
        return not (self._shared(giver) & self._variables).isdisjoint(names)

    def _groups(self, names: Sequence[str]) -> list[set[str]]:
        """Cells that must be replayed together."""
        groups: list[set[str]] = []
        for name in names:
            joined = [group for group in groups if any(self._are_tied(name, other) for other in group)]
            groups = [group for group in groups if group not in joined]
            groups.append({name}.union(*joined))
        return groups

    def _are_tied(self, first: str, second: str) -> bool:
        one, other = self._cells[first], self._cells[second]
        if any(cell.touches_everything or cell.changes_modules for cell in (one, other)):
            return True
        return not (self._shared(one) & self._shared(other)).isdisjoint(self._variables)

    @staticmethod
    def _shared(cell: CellNames) -> frozenset[str]:
        """Every name by which it could share something with another cell."""
        return cell.mentions | cell.imports.keys()

    @cached_property
    def _pure_imports(self) -> frozenset[str]:
        """Names bound by imports alone, and always to the same thing."""
        origins: dict[str, set[str]] = {}
        for cell in self._cells.values():
            for name, origin in cell.imports.items():
                origins.setdefault(name, set()).add(origin)
        assigned = {name for cell in self._cells.values() for name in cell.defines}
        return frozenset(name for name, several in origins.items() if len(several) == 1 and name not in assigned)

    @cached_property
    def _variables(self) -> frozenset[str]:
        bound = {name for cell in self._cells.values() for name in (*cell.defines, *cell.imports)}
        return frozenset(bound - self._pure_imports)
