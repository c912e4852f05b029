"""Settings and where each value comes from: flag > environment > project file > user file.

The project file is `meta-tui.toml` in the working folder, the user's is `config.toml` in the
user's folder; both are flat TOML. API keys are no settings: they come from the environment or a
`.env` file and are never written, shown or logged.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from meta_tui.errors import UsageError
from meta_tui.store import home

Origin = Literal["flag", "environment", "project", "user", "default"]
PROJECT_FILE = "meta-tui.toml"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set, with its default.

    Attributes:
        model: provider/model as litellm names it, a server's own name with `base_url`,
            `copy-paste`, or `script:FILE`.
        base_url: address of an OpenAI-compatible server.
        method: method id.
        preset: `default` or `published`.
        temperature: sampling temperature; unset: 0 where the model takes it.
        top_p: nucleus sampling; unset: not sent.
        max_tokens: tokens of a reply at most; unset: not sent.
        seed: seed of the method's own chance.
        max_calls: calls of a run at most.
        max_tokens_total: tokens of a run at most.
        max_dollars: dollars of a run at most.
        max_seconds: seconds of a run at most.
        concurrency: calls at once.
        per_minute: calls started in a minute.
        timeout: seconds of silence that end an attempt.
        deadline: seconds of a call with all its attempts.
        retries: attempts after the first.
        cache: whether replies are read from and kept in the cache.
        sandbox: `warn` where a layer is missing, or `strict`: refuse to run without it.
        theme: theme of the app.
        keys: keys of the app by action, where they differ: `{zoom = ["f9"]}`.
        experts: special experts of meta-prompting by name: a table each, such as
            `[experts."Expert Search"]` with `command = ["find.sh"]`.
        project_experts: whether a project's file may name functions and commands to be run, and
            servers elsewhere that are sent keys.
        project_address: the address stands in a project's file that is not trusted; found out, not set.
    """

    model: str = ""
    base_url: str = ""
    method: str = "meta_prompting"
    preset: str = "default"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int = 0
    max_calls: int | None = None
    max_tokens_total: int | None = None
    max_dollars: float | None = None
    max_seconds: float | None = None
    concurrency: int = 8
    per_minute: int | None = None
    timeout: float = 120.0
    deadline: float = 600.0
    retries: int = 4
    cache: bool = True
    sandbox: Literal["warn", "strict"] = "warn"
    theme: str = "meta-dark"
    keys: dict[str, list[str]] = {}
    experts: dict[str, dict[str, Any]] = {}
    project_experts: bool = False
    project_address: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings in force, and where each came from."""

    settings: Settings
    origins: Mapping[str, Origin]


def resolve(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    given_on: str = "the command line",
) -> Resolved:
    """The settings in force.

    Args:
        flags: values given on the command line or by a program; None means not given.
        given_on: where these were given, as an error names it.

    Raises:
        UsageError: an unknown setting or a value of the wrong kind, with the place it stands in.
    """
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = dict.fromkeys(Settings.__struct_fields__, "default")
    for origin, place, given in _sources(flags or {}, os.environ if environ is None else environ, given_on):
        for name, value in given.items():
            values[name] = _checked(name, value, place)
            origins[name] = origin
    trusted = _trusts(values, origins)
    if origins["experts"] == "project" and not trusted:
        values["experts"] = {name: {**table, "project": True} for name, table in values["experts"].items()}
    values["project_address"] = (
        origins["base_url"] == "project" and not trusted and not is_here(values["base_url"])
    )
    if values["project_address"]:
        origins["project_address"] = "project"
    return Resolved(msgspec.convert(values, Settings, strict=False), origins)


def _trusts(values: Mapping[str, Any], origins: Mapping[str, Origin]) -> bool:
    """Whether the user, and not the project itself, lets a project's file run functions and commands."""
    said = origins["project_experts"] in ("user", "environment", "flag")
    return said and msgspec.convert(values["project_experts"], bool, strict=False)


def is_here(address: str) -> bool:
    """Whether a server's address is none, or one of this machine, which sends a key nowhere."""
    try:
        host = urlsplit(address).hostname or ""
        return not address or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _sources(
    flags: Mapping[str, Any], environ: Mapping[str, str], given_on: str
) -> list[tuple[Origin, str, dict[str, Any]]]:
    user, project = home().config, Path(PROJECT_FILE)
    return [
        ("user", str(user), _file(user)),
        ("project", str(project), _file(project)),
        ("environment", "the environment", _environment(environ)),
        ("flag", given_on, {name: v for name, v in flags.items() if v is not None}),
    ]


def _file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read the settings in {path}: {error}") from error


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {f"META_TUI_{name.upper()}": name for name in Settings.__struct_fields__}
    return {names[key]: value for key, value in environ.items() if key in names and value != ""}


def _checked(name: str, value: Any, place: str) -> Any:
    if name not in Settings.__struct_fields__:
        known = ", ".join(Settings.__struct_fields__)
        raise UsageError(f"{place}: no setting {name!r}; there are {known}")
    try:
        msgspec.convert({name: value}, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {name}: {error}") from error
    return value


def load_env_file(path: Path = Path(".env")) -> list[str]:
    """Take API keys from a `.env` file into the environment, where they are not set already.

    Returns:
        the names that were taken, never the values.
    """
    if not path.is_file():
        return []
    from dotenv import dotenv_values

    taken = []
    for name, value in dotenv_values(path).items():
        if value and name not in os.environ and name.upper().endswith(("_KEY", "_TOKEN", "_SECRET")):
            os.environ[name] = value
            taken.append(name)
    return taken
