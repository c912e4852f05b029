"""The methods, by id: which there are, and how one is built from its settings.

A method is a frozen value of settings with `solve(run, question)`. This module loads a method's
module when it is first asked for and knows nothing about what a method does. Methods of other
installed packages (entry-point group `meta_tui.methods`) are looked for where an id is not ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import msgspec

from meta_tui import plugins
from meta_tui.chat import Params
from meta_tui.errors import UnknownSetting, UsageError
from meta_tui.nearest import did_you_mean
from meta_tui.run import Method

METHODS: dict[str, tuple[str, str]] = {
    "meta_prompting": ("meta_tui.methods.meta_prompting", "MetaPrompting"),
    "standard": ("meta_tui.methods.baselines", "Standard"),
    "zero_shot_cot": ("meta_tui.methods.baselines", "ZeroShotCoT"),
    "expert_static": ("meta_tui.methods.baselines", "ExpertStatic"),
    "expert_dynamic": ("meta_tui.methods.baselines", "ExpertDynamic"),
    "multipersona": ("meta_tui.methods.baselines", "MultiPersona"),
    "mc2": ("meta_tui.methods.mc2.method", "MC2"),
    "cot": ("meta_tui.methods.cot", "CoT"),
    "cot_sc": ("meta_tui.methods.cot_sc", "CoTSC"),
    "tot": ("meta_tui.methods.tot", "ToT"),
    "mrp": ("meta_tui.methods.mrp", "MRP"),
    "meta_reasoner": ("meta_tui.methods.meta_reasoner", "MetaReasoner"),
    "ttpi": ("meta_tui.methods.ttpi", "TTPI"),
    "bot": ("meta_tui.methods.bot", "BoT"),
    "meta_reasoning": ("meta_tui.methods.meta_reasoning", "MetaReasoning"),
    "direct_control": ("meta_tui.methods.direct_control", "DirectControl"),
    "rlm": ("meta_tui.methods.rlm", "RLM"),
    "meta_n": ("meta_tui.methods.meta_n.method", "MetaN"),
    "meta_n_roles": ("meta_tui.methods.meta_n.rating", "LayerRoles"),
}
"""Method id -> (module, class): meta-tui's own, and those that were registered in this process."""

BUILT_IN = frozenset(METHODS)
"""Ids that no plug-in can take."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of settings and request parameters; `settings` applies where a method has them."""

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    params: Params = field(default_factory=Params)

    def settings_of(self, method: str) -> dict[str, Any]:
        """The settings of this preset that the method has."""
        fields = set(method_class(method).__struct_fields__)
        return {name: value for name, value in self.settings.items() if name in fields}


PRESETS: dict[str, Preset] = {
    "default": Preset("for live runs: the instruction as system message, a lenient parser, temperature 0"),
    "published": Preset(
        "as the published runs were made: compat parser, temperature 0.1, 8 tries a round",
        {
            "placement": "user_prefix",
            "parser": "compat",
            "label": "Question: ",
            "notice": "This is the last round; so, please present your final answer.",
            "notice_round": 13,
            "rounds": 16,
            "tries": 8,
            "code_seconds": 3.0,
            "code_wording": "published",
            "glue": "",
        },
        Params(temperature=0.1, top_p=0.95, max_tokens=1024),
    ),
}


def register(cls: Any) -> Any:
    """Make a method of your own known by its `id`, so that its logs replay; usable as a decorator.

    Args:
        cls: a frozen msgspec Struct with a class variable `id` and `async def solve(run, question)`.
    """
    METHODS[cls.id] = (cls.__module__, cls.__qualname__)
    _OWN[cls.id] = cls
    return cls


_OWN: dict[str, Any] = {}
"""Methods that were registered in this process."""


def method_class(method: str) -> Any:
    """The class of a method.

    Raises:
        UsageError: there is no such method; the message lists those that exist.
    """
    if method not in METHODS:
        return _from_plugin(method)
    if method in _OWN:
        return _OWN[method]
    module, name = METHODS[method]
    return getattr(import_module(module), name)


def _from_plugin(method: str) -> Any:
    offered = plugins.offered("methods", BUILT_IN)
    if method not in offered:
        known = sorted({*METHODS, *offered})
        near = did_you_mean(method, known)
        raise UsageError(f"no method {method!r}{near or '; there are ' + ', '.join(known)}")
    return plugins.load(offered[method], _fault)


def _fault(name: str, cls: Any) -> str:
    """What keeps the object of an entry point from being a method; empty if nothing does."""
    if not (isinstance(cls, type) and issubclass(cls, msgspec.Struct) and cls.__struct_config__.frozen):
        return "a method is a frozen msgspec.Struct of settings"
    if getattr(cls, "id", None) != name:
        return f"its id is {getattr(cls, 'id', None)!r}; id and entry point must have one name"
    if not inspect.iscoroutinefunction(getattr(cls, "solve", None)):
        return "it has no `async def solve(self, run, question)`"
    cls()
    return ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A method as listings show it; `origin` is `meta-tui`, `package version`, or a module of this
    process."""

    id: str
    cls: Any
    origin: str


def from_plugins() -> plugins.Survey:
    """The methods of other packages; their modules are imported, ours are not."""
    return plugins.survey("methods", BUILT_IN, _fault)


def listed() -> tuple[list[Listed], list[str]]:
    """All methods, ours first, and a sentence for each plug-in that cannot be used."""
    survey = from_plugins()
    found = [Listed(name, method_class(name), origin_of(name)) for name in METHODS if name not in survey.good]
    found += [Listed(name, cls, plugin.origin) for name, (plugin, cls) in sorted(survey.good.items())]
    return found, survey.problems


def origin_of(method: str) -> str:
    """Where a method comes from: `meta-tui`, `package version`, or a module of this process."""
    if method in BUILT_IN:
        return plugins.OWN
    offered = plugins.offered("methods", BUILT_IN)
    return offered[method].origin if method in offered else METHODS[method][0]


def build(method: str, settings: Mapping[str, Any] | None = None) -> Method:
    """A method from its id and (some of) its settings.

    Raises:
        UnknownSetting: no such method or setting, or a value of the wrong kind.
    """
    try:
        cls = method_class(method)
        unknown = set(settings or ()) - set(cls.__struct_encode_fields__)
        if unknown:
            raise UnknownSetting(
                f"method {method} has no setting {min(unknown)!r}. See `meta-tui methods show {method}`"
            )
        built: Method = msgspec.convert(dict(settings or {}), cls)
    except UsageError as error:
        raise UnknownSetting(str(error)) from error
    except msgspec.ValidationError as error:
        raise UnknownSetting(f"method {method}: {error}. See `meta-tui methods show {method}`") from error
    return built


def settings_of(method: Method) -> dict[str, Any]:
    """The settings of a method as plain JSON values, for the first line of a run log.

    Settings that a method names as `beyond` its paper are left out where they are at their
    defaults, so a log is no longer than the run needs; their defaults never change.
    """
    settings = all_settings(method)
    usual = all_settings(type(method)()) if (beyond := getattr(method, "beyond", ())) else {}
    for name in beyond:
        if settings[name] == usual[name]:
            del settings[name]
    return settings


def all_settings(method: Method) -> dict[str, Any]:
    """All settings of a method as plain JSON values, for people."""
    settings: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(method))
    return settings
