"""What a run is held to at its end."""

import pytest

from fakes.kitchen import Kitchen, Observer
from flows.verdicts import require_all_judged
from run_record import Question
from tasks.errors import NotRecorded
from three_tools.after_call import Ask
from three_tools.policy import PERSON, Context
from three_tools.run import join_run


def test_a_step_without_a_verdict_is_an_error(kitchen: Kitchen) -> None:
    """Prefect swallows what a hook raises, so that a step may be recorded and never judged."""
    run_id = kitchen.home.create_run(Question(objective="Where?", by="anna")).state.opened.run_id
    equipment = kitchen.workshop(Observer()).equip(None)
    with join_run(kitchen.home, equipment, run_id, Context(PERSON), as_runner="anna") as run:
        run.record_call(run.execute("tmp.write", {"path": "a.txt", "text": "a"}), Ask())
        with pytest.raises(NotRecorded, match="steps 1 have no verdict"):
            require_all_judged(run)
        run.recover()
        require_all_judged(run)
