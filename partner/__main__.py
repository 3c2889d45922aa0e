"""The `partner` command."""

import sys


def main() -> None:
    from partner.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
