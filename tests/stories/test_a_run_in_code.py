"""The second story: the same from Python, as the rooms above use the record."""

from pathlib import Path

from run_record import Call, Home, Question, StepEvaluated, lease, read_journal


def test_a_step_is_recorded_with_its_files_and_judged(tmp_path: Path) -> None:
    """A runner takes the lease, does its work in tmp/, records each step, has it judged, and closes."""
    home = Home(tmp_path / "home")
    run = home.create_run(Question(objective="How many leads?", by="anna"))

    with lease(run.folder, "the analyst's script"):
        (run.workspace.root / "leads.csv").write_text("source,leads\nemail,310\n")
        step = run.record_step(Call(tool="sandbox.exec", name="leads", did=("counted 310 leads",)))
        assert [artifact.path for artifact in step.artifacts] == ["leads.csv"]

        run.record_evaluation(StepEvaluated(step=step.step, verdict="PASS", aggregate=0.97))
        run.close("done")

    # The bytes are kept by hash: a lost file comes back as it was.
    (artifact,) = step.artifacts
    (run.workspace.root / "leads.csv").unlink()
    run.workspace.restore(artifact, home.objects)
    assert (run.workspace.root / "leads.csv").read_text() == "source,leads\nemail,310\n"

    # And the journal says what happened, in order.
    facts = [entry.fact.kind for entry in read_journal(run.folder).entries]
    assert facts == ["run_opened", "step_done", "step_evaluated", "run_closed"]
