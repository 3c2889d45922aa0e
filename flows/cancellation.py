"""Cancelling a run from the Prefect UI when no worker runs it: somebody has to look whether it was asked for."""

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException

from three_tools.run import Run

_LOOK_S = 2.0
_log = logging.getLogger(__name__)


@contextmanager
def heeding_cancellation(run: Run) -> Generator[None]:
    """While this lasts, a flow run that is to be cancelled has its cell stopped and no other step begun."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        yield
        return
    is_over = threading.Event()
    flow_run_id = context.flow_run.id

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            if _is_to_be_cancelled(flow_run_id):
                run.cancel()
                return

    # Prefect's settings are the context's.
    looking = threading.Thread(target=copy_context().run, args=(look,), name="cancellation", daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()


def _is_to_be_cancelled(flow_run_id: UUID) -> bool:
    try:
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(flow_run_id).state
    except (httpx.HTTPError, PrefectException) as error:
        _log.debug("whether the run is to be cancelled could not be asked: %s", error)
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())
