"""Settings by name: a name that does not exist is an error with the nearest one, whether it is given or set later."""
from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping

from .. import _core


def nearest(name: Any, known: Iterable[str]) -> str:
    """The end of a message: the known name that was probably meant, or nothing."""
    close = difflib.get_close_matches(str(name), list(known), 1, 0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def refuse_unknown(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises QuasarError for the first given name that is not known."""
    names = list(known)
    for name in given:
        if name not in names:
            raise _core.QuasarError(f"{owner} has no '{name}'; known: {', '.join(names)}{nearest(name, names)}")


def refuse_other_words(key: str, value: Any, allowed: Iterable[Any]) -> None:
    """Raises QuasarError for a value that is none of the allowed ones."""
    words = list(allowed)
    if value not in words:
        listed = ", ".join(map(repr, words))
        raise _core.QuasarError(f"{key} is {value!r}, but must be one of {listed}{nearest(value, [w for w in words if isinstance(w, str)])}")


class Settings:
    """What the configuration classes are derived from."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def _take(self, known: Mapping[str, Any], unknown: Mapping[str, Any]) -> None:
        """The arguments of __init__: those that it names, and the rest, which is refused."""
        refuse_unknown(type(self).__name__, unknown, known)
        self.__dict__.update(known)
        self._check()

    def _check(self) -> None:
        """Raises QuasarError for a value that nothing can be done with."""

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_unknown(type(self).__name__, [name], self.__dict__)
        before, self.__dict__[name] = self.__dict__[name], value
        try:
            self._check()
        except _core.QuasarError:
            self.__dict__[name] = before
            raise

    def _given(self) -> Dict[str, Any]:
        return dict(self.__dict__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given().items())})"
