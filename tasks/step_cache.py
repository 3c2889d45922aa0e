"""Results of steps by the sha256 of all they depend on: which key a step has, and whether its result is kept."""

import json
from collections.abc import Callable
from pathlib import Path

from prefect.serializers import JSONSerializer
from pydantic import BaseModel, JsonValue, ValidationError

from run_record import Sha256
from tasks.errors import KeptIsDamaged
from tasks.kept_step import KeptStep, unsealed
from tasks.manifest import Entry, Manifests
from tasks.plain_file import read_plain, remove
from tasks.read_set import Files
from tasks.step import Step, digest

_SERIALIZER: JsonValue = JSONSerializer().model_dump(mode="json")


class _Record(BaseModel):
    """A result as Prefect stores it. The serializer that it names is imported to read it."""

    metadata: dict[str, JsonValue]
    result: str


class StepCache:
    """Finds the key under which Prefect keeps a step's result; keeps the manifests that lead to it.

    A step's basis is known before it runs, but what it reads only after. So each basis has a manifest of the read
    sets seen so far: the first that holds names the key. Where none holds, the key names the basis and every file
    of the run, so that two runs that are alike wait for each other instead of doing the same twice.
    """

    def __init__(self, folder: Path, note: Callable[[str], None], *, is_refreshing: bool = False) -> None:
        self.results = folder / "results"
        self.locks = folder / "locks"
        self._manifests = Manifests(folder / "manifests")
        self.note = note
        self._is_refreshing = is_refreshing

    def key(self, step: Step, basis: Sha256, files: Files) -> Sha256:
        """The key of a step in a run with these files.

        What is kept under it is looked at first: what is damaged is dropped, so that Prefect does not take it.
        """
        key = self._manifests.find(basis, files) or self._first_key(step, files)
        if self._is_refreshing:
            self.forget(step, key)
            return key
        try:
            self._check(key, basis, files)
        except KeptIsDamaged as error:
            self.drop(step, key, error)
        return key

    @staticmethod
    def _first_key(step: Step, files: Files) -> Sha256:
        """For what was not seen before. A search does not look at the run's files."""
        return digest({"basis": step.basis, "files": dict(files) if step.tool == "sandbox.exec" else {}})

    def learn(self, step: Step, kept: KeptStep) -> None:
        """Have later runs find this result, whatever other files they have."""
        if step.basis is not None and kept.reads is not None:
            self._manifests.add(step.basis, Entry(key=kept.key, reads=kept.reads))

    def forget(self, step: Step, key: Sha256) -> None:
        """Keep nothing under this key any more."""
        remove(self.results / key)
        if step.basis is not None:
            self._manifests.forget(step.basis, key)

    def drop(self, step: Step, key: Sha256, error: KeptIsDamaged) -> None:
        """Forget what is not as it was kept, and say so in the record."""
        self.note(f"{error.problem}; '{step.name}' is run again")
        self.forget(step, key)

    def _check(self, key: Sha256, basis: Sha256, files: Files) -> None:
        """Look at what Prefect would read, before it does: it would do what the file tells it to."""
        try:
            record = _Record.model_validate_json(read_plain(self.results / key))
        except FileNotFoundError:
            return
        except (OSError, ValidationError):
            raise KeptIsDamaged(f"what the cache keeps under {key[:12]} cannot be read") from None
        if record.metadata.get("serializer") != _SERIALIZER:
            raise KeptIsDamaged(f"what the cache keeps under {key[:12]} names another serializer")
        try:
            unsealed(json.loads(record.result), key, basis, files)
        except ValueError:
            raise KeptIsDamaged(f"what the cache keeps under {key[:12]} cannot be read") from None
