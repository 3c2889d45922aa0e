"""What a step left behind, kept so that a later run need not run it again."""

from typing import Literal, Self

from pydantic import Field, JsonValue, ValidationError

from run_record import Artifact, Frozen, RunId, Sha256
from tasks.errors import KeptIsDamaged
from tasks.read_set import Files, ReadSet
from tasks.step import digest


class KeptStep(Frozen):
    """A step's result as JSON: the bytes of its files lie in the object store, under the hashes named here.

    Prefect is given it as one text: of JSON that a cell had a hand in, its decoder would make objects of any class.
    """

    format: Literal[1] = Field(default=1, description="The version of this format.")
    key: Sha256 = Field(description="The key it is kept under.")
    run_id: RunId = Field(description="The run that did it.")
    basis: Sha256 | None = Field(description="The basis of the step.")
    tool: str = Field(description="The tool's canonical name.")
    name: str = Field(description="What the recipe calls it.")
    seconds: float = Field(description="How long it took.")
    result: dict[str, JsonValue] = Field(description="What the tool answered.")
    artifacts: tuple[Artifact, ...] = Field(description="The files it made or changed.")
    removed: tuple[str, ...] = Field(default=(), description="The files it took away.")
    folders: tuple[str, ...] = Field(default=(), description="The folders it made and left empty.")
    outputs: tuple[dict[str, JsonValue], ...] = Field(
        default=(), description="What a cell showed, in nbformat's shape."
    )
    stderr: str = Field(default="", description="What a cell printed there: the Evaluator judges by it.")
    results: int | None = Field(default=None, description="How many results a search brought.")
    citations: Artifact | None = Field(default=None, description="The file to cite these results from.")
    reads: ReadSet | None = Field(default=None, description="What it found in the run's files; null: not to be told.")
    seal: Sha256 | None = Field(default=None, description="The sha256 of everything else here.")

    def sealed(self) -> Self:
        return self.model_copy(update={"seal": self.digest()})

    def digest(self) -> Sha256:
        """The sha256 of everything in it but its seal."""
        return digest(self.model_dump(mode="json", exclude={"seal"}))


def unsealed(stored: object, key: Sha256, basis: Sha256 | None, files: Files) -> KeptStep:
    """A kept step as it was; KeptIsDamaged if it is not, or was made by another step or of other files."""
    try:
        kept = KeptStep.model_validate_json(stored if isinstance(stored, str) else "")
    except ValidationError:
        raise KeptIsDamaged(f"what the cache keeps under {key[:12]} cannot be read") from None
    if kept.key != key:
        raise KeptIsDamaged(f"what the cache keeps under {key[:12]} was kept under {kept.key[:12]}")
    if kept.seal != kept.digest():
        raise KeptIsDamaged(f"what the cache keeps under {key[:12]} was changed: its sha256 is another")
    if kept.basis != basis:
        raise KeptIsDamaged(f"what the cache keeps under {key[:12]} is of another step, '{kept.name}'")
    if kept.reads is None or not kept.reads.holds(files):
        raise KeptIsDamaged(f"what the cache keeps under {key[:12]} was made of other files than this run has")
    return kept
