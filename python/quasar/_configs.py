"""The configurations of search spaces as lists that scripts look at, filter and join, in the words of the space that they are from."""
from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Sequence

from ._study import Space
from ._words import plain

_first_form_keys = {"activation_type", "weight_type", "include_fast_ft", "extra_options", "calibrate_method", "include_cle", "include_auto_mp",
                    "include_sq", "enable_npu_cnn", "nodes_to_exclude"}
_hierarchical_keys = {"activation", "weight", "activation_params", "weight_params", "algorithms", "scheme"}
_renamed = {"activation_type": "activation", "weight_type": "weight", "nodes_to_exclude": "exclude", "op_types_to_quantize": "OpTypesToQuantize",
            "nodes_to_quantize": "NodesToQuantize", "optimize_model": "OptimizeModel"}
_absent = object()


def _is_first_form(space: Mapping[str, Any]) -> bool:
    return not _hierarchical_keys & set(space) and bool(_first_form_keys & set(space))


def _choices(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _word(value: Any) -> Any:
    """QuantType.QInt8 and Int8Spec are one word: int8."""
    value = plain(value)
    if not isinstance(value, str):
        return value
    return re.sub("spec$", "", re.sub("^q", "", re.sub("[-_ ]", "", value.split(".")[-1]).lower()))


def snake_case(name: str) -> str:
    """FastFinetune's NumIterations as the hierarchical form writes it: num_iterations."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _as_given(choices: Any, value: Any) -> Any:
    """The object of the user's own that the value stands for."""
    return next((own for own in _choices(choices) if plain(own) == value or _word(own) == _word(value)), value)


def _found(config: Mapping[str, Any], key: str) -> Any:
    """What a configuration in the hierarchical form says of a key of the first one; _absent where it does not act."""
    if key in ("ActivationSymmetric", "WeightSymmetric"):
        return config.get(f"{key[:-9].lower()}_params", {}).get("symmetric", _absent)
    if key == "per_channel":
        return config.get("weight_params", {}).get("quant_granularity") == "Channel"
    if key == "include_fast_ft":
        return config.get("algorithms") is not None
    for group in [config] + [value for name, value in config.items() if name.endswith("_options") and isinstance(value, Mapping)]:
        if _renamed.get(key, key) in group:
            return group[_renamed.get(key, key)]
    return _absent


def _in_first_form(config: Mapping[str, Any], space: Mapping[str, Any]) -> Dict[str, Any]:
    """A configuration in the words of Auto Search's first form, with the keys of the space that act in it and the objects it holds."""
    out: Dict[str, Any] = {}
    for key, choices in space.items():
        if key == "FastFinetune" and isinstance(choices, Mapping):
            method = config.get("algorithms")
            if method is None:
                continue
            own = {"optim_algorithm": method, **config.get(f"{method}_params", {})}
            names = {"NumIterLR": "NumIterLR"}
            out[key] = {name: _as_given(values, own[names.get(name, snake_case(name))])
                        for name, values in choices.items() if names.get(name, snake_case(name)) in own}
        elif key == "extra_options" and isinstance(choices, Mapping):
            out[key] = _in_first_form(config, choices)
        else:
            value = _found(config, key)
            if value is _absent and key.startswith(("include_", "enable_")):
                value = False  # a switch that is never on is in no translation
            if value is not _absent:
                out[key] = _as_given(choices, value)
    return out


def _as_choices(config: Mapping[str, Any]) -> Dict[str, Any]:
    """Of the first form: every value as a list of one."""
    return {name: _as_choices(value) if name in ("extra_options", "FastFinetune") and isinstance(value, Mapping) else [value]
            for name, value in config.items()}


def single_space(config: Mapping[str, Any]) -> Dict[str, Any]:
    """A space with one configuration, in either form."""
    if _is_first_form(config):
        return _as_choices(config)
    out: Dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and name.endswith("_params"):
            parent = name[: -len("_params")]
            group: Dict[str, Any] = {key: [item] for key, item in value.items()}
            group["only_if"] = parent if parent in config else {"algorithms": parent}
            out[name] = group
        elif isinstance(value, Mapping) and name.endswith("_options"):
            out.update({key: [item] for key, item in value.items()})  # keys of the first level, which have met their condition
        else:
            out[name] = [value]
    return out


class Configs(Sequence[Dict[str, Any]]):
    """The configurations of one space or of several in order (a + b), made when they are looked at."""

    def __init__(self, spaces: Sequence[Mapping[str, Any]], base: Any = None) -> None:
        self._given = list(spaces)
        self.spaces: List[Dict[str, Any]] = [plain(space, "search space") for space in spaces]
        self._base = base
        self._opened = [Space(space, base) for space in self.spaces]

    def __len__(self) -> int:
        return sum(len(space) for space in self._opened)

    def _at(self, space: int, place: int) -> Dict[str, Any]:
        config = self._opened[space][place]
        return _in_first_form(config, self._given[space]) if _is_first_form(self._given[space]) else config

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        for number, space in enumerate(self._opened):
            if 0 <= place < len(space):
                return self._at(number, place)
            place -= len(space)
        raise IndexError(f"there are {len(self)} configurations")

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self._at(number, place) for number, space in enumerate(self._opened) for place in range(len(space)))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Configs):
            return Configs(self._given + other._given, self._base)
        return list(self) + list(other)

    def __radd__(self, other: Any) -> Any:
        return list(other) + list(self)
