"""What a run leaves behind: its files, their bytes by hash, and a journal in which every step can be audited."""

from run_record.artifact import Artifact, Frozen
from run_record.artifact_index import ArtifactIndex, IndexedFile, artifact_index
from run_record.errors import RunRecordError
from run_record.facts import AttemptStarted, Fact, NoteAdded, RunClosed, RunOpened, StepDone, StepEvaluated
from run_record.home import Home, Question
from run_record.ids import RunId, Sha256
from run_record.journal import Journal, read_journal
from run_record.lease import is_held, is_taken, lease
from run_record.object_store import ObjectStore
from run_record.record import Call, RunRecord
from run_record.state import RunState
from run_record.workspace import Workspace

__all__ = [
    "Artifact",
    "ArtifactIndex",
    "AttemptStarted",
    "Call",
    "Fact",
    "Frozen",
    "Home",
    "IndexedFile",
    "Journal",
    "NoteAdded",
    "ObjectStore",
    "Question",
    "RunClosed",
    "RunId",
    "RunOpened",
    "RunRecord",
    "RunRecordError",
    "RunState",
    "Sha256",
    "StepDone",
    "StepEvaluated",
    "Workspace",
    "artifact_index",
    "is_held",
    "is_taken",
    "lease",
    "read_journal",
]
