"""A cell's outputs on a terminal."""

import sys

from partner.cli.screen import say, size
from run_record.plain_text import printable
from sandbox import Output


def show_output(output: Output) -> None:
    """One output, with nothing in it able to move the cursor."""
    match output:
        case {"output_type": "stream", "name": name, "text": text}:
            stream = sys.stdout if name == "stdout" else sys.stderr
            stream.write("\n".join(map(printable, text.split("\n"))))
            stream.flush()
        case {"output_type": "error", "traceback": lines}:
            say("\n".join(map(printable, "".join(lines).rstrip().split("\n"))))
        case {"data": data}:
            for mime, value in data.items():
                if mime.startswith("image/"):
                    print(f"[{mime}, {size(len(value) * 3 // 4)}]")
            if "text/plain" in data and not any(mime.startswith("image/") for mime in data):
                print("\n".join(map(printable, str(data["text/plain"]).split("\n"))))
        case _:
            return
