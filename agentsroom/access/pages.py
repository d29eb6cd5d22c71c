"""How a browser gets in and out: the token's form, the link that works once, signing out."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, make_response, redirect, render_template, request, session
from werkzeug.wrappers import Response as AnyResponse

from agentsroom.access import service
from agentsroom.access.routes import LOGIN, allow, public
from agentsroom.core.database import Database, Writing
from agentsroom.core.ids import same_secret, secret_hash

HOME = "/rooms"

Route = Callable[..., Any]


def login_pages(database: Database, token: str, slowed: Callable[[Route], Route]) -> Blueprint:
    """`token` is the one of serve.json; `slowed` bounds how often a view may fail in a minute."""
    pages = Blueprint("access", __name__)
    token_hash = secret_hash(token)

    def enter(act: Callable[[Writing, str], str]) -> AnyResponse:
        browser = request.headers.get("User-Agent", "")
        login_id = database.write(lambda work: act(work, browser))
        session.clear()
        session[LOGIN] = login_id
        session.permanent = True
        return redirect(HOME)

    @pages.get("/login")
    @public
    def login() -> str:
        return render_template("access/login.html", problem=None)

    @pages.post("/login")
    @public
    @slowed
    def log_in() -> AnyResponse:
        given = request.form.get("token", "").strip()
        if not same_secret(token_hash, given):
            return _refused(given)
        return enter(service.log_in)

    @pages.get(
        "/login/<token>"
    )  # not slowed: its tokens can't be guessed, and any page may make a browser try some
    @public
    def log_in_by_link(token: str) -> Any:
        if request.method == "HEAD":
            return ""  # whoever previews the link must not use it up
        if _is_in(database):
            return redirect(HOME)  # and the link stays good for another browser
        return enter(lambda work, browser: service.log_in_by_link(work, token, browser))

    @pages.post("/logout")
    @allow("admin")
    def log_out() -> AnyResponse:
        login_id = session.get(LOGIN)
        if login_id is not None:
            database.write(lambda work: service.log_out(work, login_id))
        session.clear()
        return redirect("/login")

    return pages


def _is_in(database: Database) -> bool:
    """Whether this browser is logged in already."""
    login_id = session.get(LOGIN, "")
    return database.read(lambda work: service.admin_of_login(work, login_id)) is not None


def _refused(given: str) -> Response:
    problem = (
        "This is an agent’s key. A browser needs the token of serve.json, or the login link."
        if given.startswith("agt_")
        else "This is not the token of the server that runs now; each start makes a new one."
    )
    return make_response(render_template("access/login.html", problem=problem), 401)
