"""The models of bench/zoo.py: real.py (weights that packages carry) and made.py (made-up weights); samples.py, tasks.py and work.py serve both."""


def catalogue():
    from . import made, real
    return [*real.models(), *made.models()]
