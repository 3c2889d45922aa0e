"""partner verify"""

import sys
from dataclasses import asdict

from partner.cli.desk import Flags, desk
from partner.cli.failure import DAMAGED
from partner.cli.screen import Progress, count, mark, print_json, say, size
from run_record.plain_text import printable
from run_record.verification import verify


def verify_run(flags: Flags, name: str, *, as_json: bool) -> None:
    home = desk(flags).home
    run_id = home.find(name)
    progress = Progress()
    found = verify(home.folder(run_id), home.objects, lambda what: progress.show(f"checking {what}"))
    progress.clear()
    is_whole = not found.damage
    if as_json:
        print_json({"run_id": run_id, "ok": is_whole, **asdict(found)})
    else:
        for damage in found.damage:
            print(f"{mark('✗')} {printable(damage.where)}: {printable(damage.problem)}")
        for remark in found.remarks:
            print(f"{mark('!')} {printable(remark)}")
        objects = f"{count(found.objects, 'object')} ({size(found.object_bytes)})"
        checked = f"{count(found.records, 'record')}, {objects}, {count(found.files, 'file')}"
        if is_whole:
            print(f"{mark('✓')} {run_id} is whole: {checked}")
        else:
            print(f"{mark('✗')} {run_id} is damaged in {count(len(found.damage), 'place')}; checked {checked}")
    if not is_whole:
        if not as_json:
            say("  → restore what is damaged from a backup; everything else is as it was recorded")
        sys.exit(DAMAGED)
