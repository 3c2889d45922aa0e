"""The home: where all runs and their objects live."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from run_record.clock import Clock, system_clock, timestamp
from run_record.durable import make_directory, sync_directory
from run_record.errors import AmbiguousRun, MachineRefused, NotFound
from run_record.facts import RunOpened
from run_record.ids import RunId, is_run_id, mint_run_id
from run_record.incoming import Incoming
from run_record.journal import create_journal
from run_record.object_store import ObjectStore
from run_record.plain_text import printable
from run_record.record import INCOMING, TMP, RunRecord

LATEST = "latest"
_UNBORN = ".unborn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a new run is about."""

    objective: str = ""
    recipe: str = ""
    parameters: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    as_of: str = ""
    seed: int = 0
    deliverables: tuple[str, ...] = ()
    by: str


class Home:
    """Makes runs and finds them again.

    A run appears whole or not at all. The folders above its `tmp/` can be passed through but not
    listed by others, because a run's cells may have a uid of their own.
    """

    def __init__(self, root: Path, clock: Clock = system_clock) -> None:
        self.root = root.absolute()
        self.clock = clock
        self.objects = ObjectStore(self.root / "objects")
        self._unborn = Incoming(self.runs / _UNBORN)

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def create_run(self, question: Question) -> RunRecord:
        """Mint a run."""
        run_id = mint_run_id()
        now = self.clock()
        opened = RunOpened(
            run_id=run_id,
            objective=question.objective,
            recipe=question.recipe,
            parameters=question.parameters,
            as_of=question.as_of or now.date().isoformat(),
            seed=question.seed,
            deliverables=question.deliverables,
            by=question.by,
        )
        try:
            self._create_folders()
            self._create_run_folder(run_id, opened, timestamp(now))
        except OSError as error:
            raise MachineRefused.because(f"no run could be made in the home {self.root}", error) from error
        return self.open_run(run_id)

    def _create_folders(self) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        make_directory(self.root, 0o755)
        make_directory(self.runs, 0o711)
        make_directory(self.runs / _UNBORN, 0o711)
        ObjectStore.create(self.root / "objects")

    def _create_run_folder(self, run_id: RunId, opened: RunOpened, at: str) -> None:
        with self._unborn.draft_folder(0o711) as folder:
            (folder / TMP).mkdir(0o700)
            (folder / INCOMING).mkdir(0o700)
            create_journal(folder, opened, at)
            folder.rename(self.folder(run_id))
        sync_directory(self.runs)
        self._point_latest_to(run_id)

    def _point_latest_to(self, run_id: RunId) -> None:
        """Remember the newest run by name: the clock may have gone back since the one before."""
        link = self.runs / f".latest-{run_id}"
        with suppress(OSError):
            link.symlink_to(run_id)
            link.rename(self.runs / LATEST)

    def open_run(self, run_id: RunId) -> RunRecord:
        """A run's record, to write to; whatever a crash left half done is put right first."""
        return RunRecord(self.folder(run_id), self.objects, self.clock)

    def folder(self, run_id: RunId) -> Path:
        return self.runs / run_id

    def run_ids(self) -> Iterator[RunId]:
        """Every run, in no order."""
        with suppress(FileNotFoundError), os.scandir(self.runs) as entries:
            yield from (RunId(entry.name) for entry in entries if is_run_id(entry.name))

    def find(self, name: str) -> RunId:
        """The run that is meant by its id, an unambiguous beginning of it, or `latest`."""
        if name == LATEST:
            return self._latest()
        if is_run_id(name) and self.folder(RunId(name)).is_dir():
            return RunId(name)
        matches = [run_id for run_id in self.run_ids() if name and run_id.startswith(name.lower())]
        if len(matches) == 1:
            return matches[0]
        shown = printable(name[:80])
        if matches:
            some = ", ".join(sorted(matches)[:5])
            raise AmbiguousRun(f"'{shown}' is the beginning of {len(matches)} runs: {some}", "give more of the id")
        raise NotFound(
            f"no run '{shown}' in {self.root}", "`partner runs` lists them; --home or PARTNER_HOME names another home"
        )

    def _latest(self) -> RunId:
        with suppress(OSError):
            name = os.readlink(self.runs / LATEST)
            if is_run_id(name) and (self.runs / name).is_dir():
                return RunId(name)
        raise NotFound(f"there is no latest run in {self.root}", "`partner runs` lists them, `partner open` makes one")
