"""The manifests as a user gets them: three over HTTP, two from the command, with the schemas that others published."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from werkzeug.test import TestResponse

from agentsroom.cli import cli
from agentsroom.factory import create_app
from agentsroom.gateways.manifest.served import SERVED
from agentsroom.gateways.running import Running
from tests.support.stores import Json, Store

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "fixtures" / "schemas"
BASE = "http://127.0.0.1:8765"
RUNNING = Running(url=BASE, port=8765, pid=1, instance_id="i", token="the-token-of-serve-json")


def client_of(store: Store, **changes: Any) -> FlaskClient:
    """Asks an app that does not listen, of the store's settings with these changes."""
    app: Flask = create_app(replace(store.settings, **changes), store.runtime, RUNNING)
    return app.test_client()


def ask(client: FlaskClient, path: str, **headers: str) -> TestResponse:
    """A GET with the admin's token, to the address that the server has."""
    given = {"Authorization": f"Bearer {RUNNING.token}"} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    return client.get(path, base_url=BASE, headers=given)


def served(client: FlaskClient, kind: str, **headers: str) -> Json:
    """One of the three that a server gives."""
    answer = ask(client, SERVED[kind].place, **headers)
    assert answer.status_code == 200, answer.text
    document: Json = json.loads(answer.data)
    return document


def run(*arguments: str, **environment: str) -> Result:
    """The command `manifest` with these arguments."""
    return CliRunner().invoke(cli, ["manifest", *arguments], env=environment)


def printed(kind: str, *options: str, **environment: str) -> Json:
    """One of the five, as the command prints it."""
    result = run(kind, *options, **environment)
    assert result.exit_code == 0, result.stderr
    document: Json = json.loads(result.stdout)
    return document


def check(document: Json, schema: str, closed: tuple[str, ...] = ()) -> None:
    """The document fits the schema; in the definitions that are closed, nothing stands that the schema does not know."""
    rules: Json = json.loads((SCHEMAS / schema).read_text())
    definitions = rules.get("definitions") or rules.get("$defs") or {}
    for name in closed:
        definitions[name]["unevaluatedProperties"] = False
    rules["$schema"] = Draft202012Validator.META_SCHEMA[
        "$id"
    ]  # the older draft knows no unevaluatedProperties
    Draft202012Validator.check_schema(rules)
    Draft202012Validator(rules).validate(document)
