"""The manifests of a release: the MCP registry's server.json, and the manifest.json of an MCP bundle."""

import re
from dataclasses import fields
from typing import NamedTuple
from urllib.parse import urlsplit

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.product import DESCRIPTION, LICENCE, NAME, TITLE, VERSION
from agentsroom.core.settings import PREFIX, Settings
from agentsroom.core.tools import Registry
from agentsroom.gateways.manifest.parts import Json, Manifest, authorization, lists
from agentsroom.gateways.manifest.served import LOCAL

AUTHOR = "agents-room contributors"
PYTHON = ">=3.11"
SERVER_JSON_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PUBLISHER_META = "io.modelcontextprotocol.registry/publisher-provided"
"""The one key of `_meta` that the registry keeps, up to 4 KB."""
BUNDLE_VERSION = "0.4"
ENTRY_POINT = "agentsroom/gateways/mcp_stdio.py"

_REGISTRY_NAME = re.compile(r"[a-zA-Z0-9.-]{1,100}/[a-zA-Z0-9._-]{1,99}")
_REPOSITORY = re.compile(r"https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[\w.~-]+)+/?", re.ASCII)
_GITHUB = re.compile(r"https://github\.com/([a-zA-Z0-9-]+)/[\w.-]+/?", re.ASCII)
_SOURCES = {"github.com": "github", "gitlab.com": "gitlab"}


class Release(NamedTuple):
    """A release of the product, as it is published."""

    registry: Registry
    name: str
    """In reverse DNS: whose it is, a slash, the product."""
    repository: str | None

    @property
    def is_nobodys(self) -> bool:
        """Whether its name belongs to nobody, so that no registry takes it."""
        return self.name.startswith(f"{LOCAL}/")


class Asked(NamedTuple):
    """A setting that an installer asks for."""

    name: str
    title: str
    help: str
    default: str
    is_folder: bool

    @property
    def variable(self) -> str:
        return f"{PREFIX}{self.name.upper()}"


def release_of(registry: Registry, repository: str | None, name: str | None) -> Release:
    """A release as its publisher says; a repository at GitHub tells the name too.

    Raises InvalidArgument.
    """
    problems = {}
    if repository is not None and not _REPOSITORY.fullmatch(repository):
        problems["--repository"] = f"{repository} came; https://github.com/OWNER/{NAME} or the like is taken"
    if name is not None and not _REGISTRY_NAME.fullmatch(name):
        problems["--name"] = f"{name} came; io.github.OWNER/{NAME} or the like is taken"
    if problems:
        raise InvalidArgument(problems)
    at_github = _GITHUB.fullmatch(repository or "")
    owner = f"io.github.{at_github[1]}" if at_github else LOCAL
    return Release(registry, name or f"{owner}/{NAME}", repository)


def server_json(release: Release) -> Json:
    """The package, and any server that somebody runs under a name of its own."""
    return {
        "$schema": SERVER_JSON_SCHEMA,
        "name": release.name,
        "title": TITLE,
        "description": DESCRIPTION,
        **_source(release),
        "version": VERSION,
        "packages": [_package()],
        "remotes": [_remote()],
        "_meta": {PUBLISHER_META: _names(release.registry)},
    }


def _source(release: Release) -> Json:
    if release.repository is None:
        return {}
    host = urlsplit(release.repository).hostname or ""
    return {"repository": {"url": release.repository, "source": _SOURCES.get(host, host)}}


def _package() -> Json:
    return {
        "registryType": "pypi",
        "identifier": NAME,
        "version": VERSION,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "environmentVariables": [
            {
                "name": one.variable,
                "description": one.help,
                "format": "filepath" if one.is_folder else "string",
                "default": one.default,
            }
            for one in _asked()
        ],
    }


def _remote() -> Json:
    """The registry takes only https, so the scheme is no variable."""
    host = {
        "description": "Host of the server, with its port unless that is 443",
        "isRequired": True,
        "placeholder": "rooms.example.org",
    }
    return {
        "type": "streamable-http",
        "url": "https://{host}/mcp",
        "variables": {"host": host},
        "headers": [authorization()],
    }


def _names(registry: Registry) -> dict[str, list[str]]:
    return {name: [one["name"] for one in items] for name, items in lists(registry).items()}


def bundle_manifest(release: Release) -> Json:
    """A bundle whose host has uv install what pyproject.toml asks for (MCPB 0.4); the checkout is its content."""
    return {
        "manifest_version": BUNDLE_VERSION,
        "name": NAME,
        "display_name": TITLE,
        "version": VERSION,
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        **_git(release),
        "server": _bundled_server(),
        "tools": [
            {"name": tool["name"], "description": tool["description"]}
            for tool in lists(release.registry)["tools"]
        ],
        "license": LICENCE,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": PYTHON}},
        "user_config": {one.name: _question(one) for one in _asked()},
    }


def _git(release: Release) -> Json:
    return {} if release.repository is None else {"repository": {"type": "git", "url": release.repository}}


def _bundled_server() -> Json:
    """uv's --directory would not do: the server finds the repository by the folder where its client starts it."""
    return {
        "type": "uv",
        "entry_point": ENTRY_POINT,
        "mcp_config": {
            "command": "uv",
            "args": ["run", "--project", "${__dirname}", NAME, "mcp"],
            "env": {one.variable: f"${{user_config.{one.name}}}" for one in _asked()},
        },
    }


def _question(asked: Asked) -> Json:
    return {
        "type": "directory" if asked.is_folder else "string",
        "title": asked.title,
        "description": asked.help,
        "required": False,
        "default": asked.default.replace("~", "${HOME}"),
    }


def _asked() -> list[Asked]:
    settings = {one.name: one for one in fields(Settings)}
    return [
        Asked(
            name,
            title,
            _sentence(settings[name].metadata["help"]),
            str(settings[name].default),
            name == "home",
        )
        for name, title in (("home", "Home folder"), ("team", "Team"), ("agent", "Agent"))
    ]


def _sentence(help: str) -> str:
    return help[0].upper() + help[1:]


SERVER_JSON = Manifest(
    "server.json",
    "server.json",
    "application/json",
    "for the MCP registry: the package, and how a client starts it or reaches a server",
    server_json,
)
BUNDLE = Manifest(
    "mcpb",
    "manifest.json",
    "application/json",
    "for an MCP bundle (.mcpb), which a desktop app installs with one click",
    bundle_manifest,
)
RELEASED = {one.name: one for one in (SERVER_JSON, BUNDLE)}
