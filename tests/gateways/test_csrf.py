"""A write of a browser carries a token that only the pages of its own login know."""

from flask.testing import FlaskClient

from tests.support.stores import Store
from tests.support.web import RUNNING, csrf_token, log_in


def test_a_write_with_a_cookie_needs_the_csrf_token(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    token = csrf_token(client, "/rooms")
    assert client.post("/logout").status_code == 400
    assert client.post("/logout", data={"csrf_token": "x"}).status_code == 400
    assert client.get("/rooms").status_code == 200
    assert client.post("/logout", data={"csrf_token": token}).location == "/login"
    assert client.get("/rooms").status_code == 401


def test_a_login_form_without_its_csrf_token_is_refused(client: FlaskClient) -> None:
    assert client.post("/login", data={"token": RUNNING.token}).status_code == 400
