"""The command `quasar`, as pip installs it: the program of the command line in this process."""
import os
import signal
import sys

from . import _core


def main() -> int:
    # What Python does with these signals is undone: the program has handlers of its own. Ctrl-C that nohup or a script
    # has turned off stays off.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    return _core.program([os.fsencode(argument) for argument in sys.argv])


if __name__ == "__main__":
    sys.exit(main())
