#!python
"""The command `quasar`, as pip installs it: the program of the command line in this process.

The package is not imported. NumPy, which comes with it, starts threads, and one that is older than the program's handling of signals would
take Ctrl-C and end everything.
"""
import importlib.machinery
import importlib.util
import os
import signal
import sys

# What Python does with these signals is undone. Ctrl-C that nohup or a script has turned off stays off.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)

# Evaluators in Python run in `python3`: in this environment, even where it was not activated.
if sys.prefix != sys.base_prefix:
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)

package = importlib.util.find_spec("quasar")
if package is None:
    sys.exit("quasar: this Python has no package quasar (any more): " + sys.executable)
found = importlib.machinery.PathFinder.find_spec("_core", package.submodule_search_locations)
core = importlib.util.module_from_spec(found)
found.loader.exec_module(core)
sys.exit(core.program([os.fsencode(argument) for argument in sys.argv]))
