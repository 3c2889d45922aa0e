"""Giving back what a run held when the process that ran it could not."""

from contextlib import suppress
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State

from flows.publish import flow_run_name, show_crashed
from flows.workshop import Workshop, workshop
from run_record import RunId, RunRecordError, RunState, is_held, is_taken, lease, read_journal
from run_record.errors import RunIsBusy
from run_record.ids import is_run_id
from sandbox import SandboxError
from three_tools.policy import PERSON, Context
from three_tools.run import Equipment, join_run


def release(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001  (Prefect's names)
    """The hook for flow runs that crashed or were cancelled; it may run in another process than they did."""
    sweep(workshop())


def sweep(shop: Workshop) -> None:
    """End the session of every recipe's run whose process died or could not close it, and record what was lost.

    Such a run stays open: it can be gone on with. Sessions of runs by hand are their owner's.
    """
    equipment = shop.equip(None)
    left = {run_id for run_id in shop.home.run_ids() if is_taken(shop.home.folder(run_id))}
    with suppress(SandboxError):  # what cannot be asked holds nothing
        names = equipment.backend().session_names()
        left |= {RunId(name) for name in names if is_run_id(name) and shop.home.folder(RunId(name)).is_dir()}
    for run_id in left:
        with suppress(SandboxError):
            _release_one(shop, equipment, run_id)


def _release_one(shop: Workshop, equipment: Equipment, run_id: RunId) -> None:
    folder = shop.home.folder(run_id)
    with suppress(RunIsBusy, RunRecordError):
        found = RunState(read_journal(folder).entries)
        if not found.opened.recipe or is_held(folder):
            return  # opening the record of a run that is at work would look like a cell's reading
        if found.closed:
            with lease(folder, "the sweeper"):  # it takes no records; next time it need not be looked at
                equipment.backend().close_session(run_id)
            return
        caller = Context(PERSON, user_id=shop.author)
        with join_run(shop.home, equipment, run_id, caller, as_runner="the sweeper"):  # what was lost is recorded
            equipment.backend().close_session(run_id)
        show_crashed(flow_run_name(found.opened.recipe, run_id))
