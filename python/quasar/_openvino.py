"""Where the wheel `openvino` is installed beside Quasar, its library is the one that key runtime: openvino opens."""
from __future__ import annotations

import importlib.util
import os
from pathlib import Path

variable = "QUASAR_OPENVINO"


def offer() -> None:
    """Names the wheel's library to Quasar, without importing it; what the user names is left alone."""
    if os.environ.get(variable):
        return
    found = importlib.util.find_spec("openvino")
    for folder in found.submodule_search_locations or [] if found is not None else []:
        libraries = Path(folder) / "libs"
        if any(libraries.glob("libopenvino_c.so*")):
            os.environ[variable] = str(libraries)
            return
