"""How key runtime: openvino runs models: the wheel `openvino` beside Quasar has the library, and processes of this interpreter run it."""
from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from . import _core

variable = "QUASAR_OPENVINO"

# The bindings alone, without the package and what that imports.
_PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
sys.exit(core.answer_for_openvino())
"""


def offer() -> None:
    """Names the wheel's library to Quasar, without importing it; what the user names is left alone. Says how its processes are started."""
    if sys.executable:
        _core.judge_by([sys.executable, "-I", "-S", "-c", _PROGRAM, _core.__file__])
    if os.environ.get(variable):
        return
    found = importlib.util.find_spec("openvino")
    for folder in found.submodule_search_locations or [] if found is not None else []:
        libraries = Path(folder) / "libs"
        if any(libraries.glob("libopenvino_c.so*")):
            os.environ[variable] = str(libraries)
            return
