"""partner config"""

from partner.cli.desk import Flags
from partner.cli.screen import print_json, print_table, say
from partner.settings import FILE, load_settings, origins


def show_config(flags: Flags, *, as_json: bool) -> None:
    settings = load_settings(flags)
    found = origins(settings, flags)
    if as_json:
        print_json({origin.name: {"value": origin.value, "source": origin.source} for origin in found})
        return
    print_table([(origin.name, origin.value or "not set", origin.source) for origin in found])
    say(f"\nset one with PARTNER_NAME in the environment or in ./{FILE}; the home also with --home")
