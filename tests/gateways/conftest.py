"""An app on a fresh store, and a browser that nobody logged in."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.support.stores import Store
from tests.support.web import app_of, browser_of


@pytest.fixture
def app(sqlite_store: Store) -> Flask:
    return app_of(sqlite_store)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return browser_of(app)
