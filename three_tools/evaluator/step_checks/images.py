"""Pictures: they decode wholly, and show something."""
# Only the sandbox's environment has this library.
# pyright: basic, reportMissingImports=false

import warnings
from typing import Any


def check(file: Any) -> list[dict[str, Any]]:
    from PIL import Image, ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # WeasyPrint, loaded beforehand, makes Pillow fill up what is cut off
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(file.object) as image:
            image.load()
            width, height = image.size
            ends = image.convert("RGBA").getextrema()
    is_blank = all(least == most for least, most in ends) or ends[3][1] == 0
    return [
        file.found("opens", 1, f"{width} × {height} pixels"),
        file.found(
            "not blank", float(not is_blank), f"all {width} × {height} pixels look the same" if is_blank else ""
        ),
    ]
