"""The facts a journal holds: everything a run's record knows is folded from these."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from run_record.artifact import Artifact, Frozen
from run_record.ids import RunId

Verdict = Literal["PASS", "FAIL", "NOT EVALUATED"]
EndState = Literal["done", "failed", "cancelled"]
Score = Annotated[float, Field(ge=0, le=1)]


class RunOpened(Frozen):
    """A run began: what is asked, and all that its results may depend on."""

    kind: Literal["run_opened"] = "run_opened"
    run_id: RunId = Field(description="The run's id.")
    objective: str = Field(default="", description="The question the run answers.")
    recipe: str = Field(default="", description="The recipe that answers it; empty for a run by hand.")
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="The recipe's parameters.")
    as_of: str = Field(description="The run's clock, a UTC date: what its results call today.")
    seed: int = Field(default=0, description="Where the run's random numbers start.")
    deliverables: tuple[str, ...] = Field(default=(), description="The files that the recipe is to deliver.")
    by: str = Field(description="Who opened it.")


class AttemptStarted(Frozen):
    """A recipe's step was begun; the step that ends it has the same name and attempt. Without one it was lost."""

    kind: Literal["attempt_started"] = "attempt_started"
    tool: str = Field(description="The tool's canonical name.", min_length=1)
    name: str = Field(description="What the recipe calls this step.", min_length=1)
    attempt: int = Field(description="Which try it is in this run, from 1.", ge=1)


class StepDone(Frozen):
    """A tool call ended, well or not, and these files came of it."""

    kind: Literal["step_done"] = "step_done"
    step: int = Field(description="The step's number in the run, from 1.", ge=1)
    tool: str = Field(description="The tool's canonical name, such as sandbox.exec.", min_length=1)
    name: str = Field(default="", description="What the recipe calls this step.")
    attempt: int = Field(default=0, description="Which try of a recipe's step it ends; 0: none was announced.", ge=0)
    inputs: dict[str, JsonValue] = Field(default_factory=dict, description="The salient arguments only.")
    did: tuple[str, ...] = Field(default=(), description="One to three true sentences about what was done.")
    ok: bool = Field(default=True, description="Whether the call did what was asked.")
    cached: bool = Field(default=False, description="Whether an earlier result was used instead of running it.")
    seconds: float = Field(default=0.0, description="How long it took.", ge=0)
    artifacts: tuple[Artifact, ...] = Field(
        default=(), description="Files that are new or changed since the step before."
    )
    removed: tuple[str, ...] = Field(default=(), description="Files that are gone since the step before.")
    skipped: dict[str, str] = Field(
        default_factory=dict, description="What is no plain file, and why it was passed over."
    )
    next_steps: tuple[str, ...] = Field(default=(), description="What comes next, as the recipe or the caller says.")
    source: str = Field(default="", description="The code that was run, whole.")
    code: str = Field(default="", description="The fixed code of a refusal; empty when there is a result.")
    cause: str = Field(default="", description="Why a cell did not end well, in the sandbox's word for it.")
    detail: str = Field(default="", description="Why it did not do what was asked, as a sentence.")
    stderr: str = Field(default="", description="The end of what a cell printed on stderr.")
    killed_processes: int = Field(default=0, description="Processes that a cell left behind and that were ended.", ge=0)
    results: int | None = Field(default=None, description="How many results a search brought.", ge=0)
    citations: Artifact | None = Field(default=None, description="The file to cite these results from, as written.")
    expects: dict[str, JsonValue] = Field(
        default_factory=dict, description="What was expected of it, as the Evaluator reads it."
    )


class StepEvaluated(Frozen):
    """The Evaluator's judgement of a step; a later one for the same step replaces it."""

    kind: Literal["step_evaluated"] = "step_evaluated"
    step: int = Field(description="The step that was judged.", ge=1)
    verdict: Verdict = Field(description="PASS, FAIL, or NOT EVALUATED with the reason as critique.")
    completeness: Score | None = Field(default=None, description="Were all required files made?")
    correctness: Score | None = Field(default=None, description="Do they pass their checks?")
    evidence: Score | None = Field(default=None, description="Do claims have sources?")
    hygiene: Score | None = Field(default=None, description="No warnings, within its time?")
    aggregate: Score | None = Field(default=None, description="The mean of the four.")
    critique: str = Field(default="", description="One or two lines: what failed, or why there is no verdict.")


class NoteAdded(Frozen):
    """Somebody, or the record itself, has something to say."""

    kind: Literal["note_added"] = "note_added"
    by: str = Field(description="Who says it.")
    text: str = Field(description="What they say.", min_length=1)


class RunClosed(Frozen):
    """A run ended; only notes may follow."""

    kind: Literal["run_closed"] = "run_closed"
    state: EndState = Field(description="How it ended.")
    reason: str = Field(default="", description="Why, when it did not end well.")


Fact = Annotated[
    RunOpened | AttemptStarted | StepDone | StepEvaluated | NoteAdded | RunClosed, Field(discriminator="kind")
]
