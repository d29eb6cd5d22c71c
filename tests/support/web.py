"""The web app without a socket: a server that does not listen, the clients that ask it, and what they bring."""

import re
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from agentsroom.access import service as access
from agentsroom.factory import create_app
from agentsroom.gateways.running import Running
from tests.support.stores import Json, Store

BASE = "http://127.0.0.1:8765"
RUNNING = Running(url=BASE, port=8765, pid=1, instance_id="i", token="the-token-of-serve-json")
PAGE = {"Accept": "text/html"}


class OwnClient(FlaskClient):
    """Asks the address that the server has."""

    def open(self, *args: Any, **options: Any) -> TestResponse:
        return super().open(*args, **{"base_url": BASE, **options})


def app_of(store: Store) -> Flask:
    return create_app(store.settings, store.runtime, RUNNING)


def browser_of(app: Flask) -> FlaskClient:
    """A client with a cookie jar of its own."""
    app.test_client_class = OwnClient
    return app.test_client()


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def agent_key(store: Store, agent: str = "default") -> str:
    """A new key; the agent's older ones work no longer."""
    return store.runtime.database.write(lambda work: access.rotate_key(work, agent)).key


def login_token(store: Store) -> str:
    return store.runtime.database.write(access.create_login_link)


def log_in(client: FlaskClient, store: Store) -> TestResponse:
    response = client.get(f"/login/{login_token(store)}")
    assert (response.status_code, response.location) == (302, "/rooms")
    return response


def csrf_token(client: FlaskClient, path: str = "/login") -> str:
    """The one of the page's forms."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def type_token(client: FlaskClient, token: str, **headers: str) -> TestResponse:
    """Fills in the form of /login."""
    form = {"csrf_token": csrf_token(client), "token": token}
    return client.post("/login", data=form, headers=headers)


def json_of(response: TestResponse) -> Json:
    """The answer, which is a JSON object."""
    assert isinstance(response.json, dict), response.text
    return response.json


def error_of(response: TestResponse) -> str:
    """The code of the error object."""
    error = json_of(response)["error"]
    code: str = error.get("data", error)["code"]  # at /mcp it is the data of a JSON-RPC error
    return code
