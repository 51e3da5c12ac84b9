"""Where the wheels `onnxruntime-qnn` and `onnxruntime` are installed beside Quasar, this interpreter is the one that key runtime: qnn_htp starts."""
from __future__ import annotations

import importlib.util
import os
import sys

variable = "QUASAR_QNN"


def offer() -> None:
    """Names this interpreter to Quasar, without importing the wheels; what the user names is left alone."""
    if os.environ.get(variable) or not sys.executable:
        return
    if importlib.util.find_spec("onnxruntime_qnn") is not None and importlib.util.find_spec("onnxruntime") is not None:
        os.environ[variable] = sys.executable
