"""Errors over HTTP: a page for a person, the error object for a program, nothing of the inside."""

from collections.abc import Callable
from typing import NoReturn

import pytest
from flask import Flask, abort
from flask.testing import FlaskClient
from werkzeug.exceptions import default_exceptions

from agentsroom.access.routes import public
from agentsroom.core.errors import AgentsRoomError
from agentsroom.gateways.errors import http_errors
from tests.support.stores import Store
from tests.support.web import PAGE, browser_of
from tests.support.wiki_tables import subclasses


def test_health_tells_that_the_store_can_not_be_read_and_no_more(
    client: FlaskClient, sqlite_store: Store
) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})
    path = sqlite_store.settings.database_path
    assert path is not None
    sqlite_store.runtime.database.close()
    path.write_bytes(b"no database" * 1_000)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json is not None
    assert answer.json["error"]["code"] == "store_unavailable"
    assert answer.headers["Retry-After"]
    assert str(path) not in answer.text


def test_each_error_that_http_alone_has_is_listed(app: Flask, client: FlaskClient) -> None:
    ours = {one.code for one in subclasses(AgentsRoomError)}
    listed = {code: status for code, status, _ in http_errors()}
    assert not ours & set(listed)
    for status in sorted(default_exceptions):
        app.view_functions["healthz"] = failing(status)
        answer = client.get("/healthz")
        assert answer.status_code == status
        assert answer.json is not None
        code = answer.json["error"]["code"]
        assert code in ours | set(listed)
        if status in listed.values():
            assert listed[code] == status


def failing(status: int) -> Callable[[], NoReturn]:
    @public
    def fail() -> NoReturn:
        abort(status)

    return fail


def test_an_error_is_a_page_for_a_person_and_json_for_a_program(client: FlaskClient) -> None:
    page = client.get("/nothing", headers=PAGE)
    assert page.status_code == 404
    assert "Nothing is here." in page.text
    assert page.mimetype == "text/html"
    told = client.get("/nothing").json
    assert told is not None
    assert told["error"]["code"] == "not_found"
    refused = client.put("/login")
    assert (refused.status_code, "GET" in refused.headers["Allow"]) == (405, True)


@pytest.mark.parametrize("headers", [PAGE, {}])
def test_a_fault_tells_nothing_of_the_inside(
    app: Flask, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    app.view_functions["healthz"] = broken()
    response = browser_of(app).get("/healthz", headers=headers)
    assert response.status_code == 500
    assert "secret detail" not in response.text
    assert "secret detail" in caplog.text


def broken() -> Callable[[], str]:
    @public
    def fail() -> str:
        raise ValueError("secret detail")

    return fail
