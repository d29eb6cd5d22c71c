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
from tests.support.stores import Json, Store
from tests.support.web import BASE, RUNNING, bearer

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "fixtures" / "schemas"
REPOSITORY = "https://github.com/Some-One/agents-room"


def client_of(store: Store, **changes: Any) -> FlaskClient:
    """Asks an app that does not listen, of the store's settings with these changes."""
    app: Flask = create_app(replace(store.settings, **changes), store.runtime, RUNNING)
    return app.test_client()


def ask(client: FlaskClient, path: str, **headers: str) -> TestResponse:
    """A GET with the admin's token, to the address that the server has."""
    given = bearer(RUNNING.token) | {name.replace("_", "-"): text for name, text in headers.items()}
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


def misfits(document: Json, schema: str, closed: tuple[str, ...] = ()) -> list[str]:
    """Where the document breaks the schema; in the definitions that are closed, whatever the schema does not know does."""
    rules: Json = json.loads((SCHEMAS / schema).read_text())
    definitions = rules.get("definitions") or rules.get("$defs") or {}
    for name in closed:
        definitions[name]["unevaluatedProperties"] = False
    rules["$schema"] = Draft202012Validator.META_SCHEMA[
        "$id"
    ]  # the older draft knows no unevaluatedProperties
    Draft202012Validator.check_schema(rules)
    return [f"{one.json_path}: {one.message}" for one in Draft202012Validator(rules).iter_errors(document)]
