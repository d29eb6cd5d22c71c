"""Everybody who may come over HTTP, and what each brings; most of them are nobody."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from flask.testing import FlaskClient

from agentsroom.access import service as access
from agentsroom.core.principals import Kind
from tests.support.stores import Store
from tests.support.web import BASE, RUNNING, agent_key, bearer, csrf_token, log_in

Bring = Callable[[Store, FlaskClient], dict[str, str]]
"""Gives the headers of somebody; a browser gets its cookie."""

_numbers: Iterator[int] = count(1)


@dataclass(frozen=True)
class Caller:
    """Somebody who comes, and as whom the server should take them."""

    brings: Bring
    kind: Kind | None = None
    has_csrf_token: bool = False
    """Whether the headers carry the CSRF token of the browser's pages."""
    needs_csrf_token: bool = False


def address_of_its_own() -> dict[str, str]:
    """Where a request comes from, so that nobody is slowed by others' wrong keys."""
    number = next(_numbers)
    return {"REMOTE_ADDR": f"198.51.{number // 256 % 256}.{number % 256}"}


def _nothing(_store: Store, _client: FlaskClient) -> dict[str, str]:
    return {}


def _cookie(store: Store, client: FlaskClient) -> dict[str, str]:
    log_in(client, store)
    return {}


def _cookie_and_token(store: Store, client: FlaskClient) -> dict[str, str]:
    log_in(client, store)
    return {"X-CSRFToken": csrf_token(client, "/rooms")}


def _cookie_of_a_login_that_ended(store: Store, client: FlaskClient) -> dict[str, str]:
    headers = _cookie_and_token(store, client)
    with client.session_transaction(base_url=BASE) as session:
        login = session["login"]
    store.runtime.database.write(lambda work: access.log_out(work, login))
    return headers


def _cookie_with_another_letter(store: Store, client: FlaskClient) -> dict[str, str]:
    headers = _cookie_and_token(store, client)
    name = client.application.config["SESSION_COOKIE_NAME"]
    cookie = client.get_cookie(name, domain="127.0.0.1")
    assert cookie is not None
    letter = "A" if cookie.value[5] != "A" else "B"
    client.set_cookie(name, cookie.value[:5] + letter + cookie.value[6:], domain="127.0.0.1")
    return headers


def _key(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store))


def _longer_key(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store) + "x")


def _shorter_key(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store)[:-1])


def _key_of_other_case(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store).swapcase())


def _public_part(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store).partition(".")[0])


def _key_without_its_prefix(store: Store, _client: FlaskClient) -> dict[str, str]:
    return bearer(agent_key(store).removeprefix("agt_"))


def _rotated_key(store: Store, _client: FlaskClient) -> dict[str, str]:
    old = agent_key(store)
    assert agent_key(store) != old
    return bearer(old)


def _revoked_key(store: Store, _client: FlaskClient) -> dict[str, str]:
    key = agent_key(store)
    store.runtime.database.write(lambda work: access.revoke_keys(work, "default"))
    return bearer(key)


def _key_of_a_deleted_agent(store: Store, _client: FlaskClient) -> dict[str, str]:
    name = f"gone-{next(_numbers)}"
    store.add_agent(name)
    key = agent_key(store, name)
    store.runtime.database.write(lambda work: access.delete_agent(work, name))
    return bearer(key)


def _hash_of_a_key(store: Store, _client: FlaskClient) -> dict[str, str]:
    key = agent_key(store)
    [(public_id, secret_hash)] = [
        (public, hashed)
        for public, hashed, revoked in store.columns("agent_keys", "public_id", "secret_hash", "revoked_at")
        if revoked is None
    ]
    assert key.startswith(f"agt_{public_id}.")
    return bearer(f"agt_{public_id}.{secret_hash}")


def _brings(headers: dict[str, str]) -> Bring:
    return lambda _store, _client: headers


CALLERS = {
    "the admin by cookie": Caller(_cookie_and_token, "admin", has_csrf_token=True, needs_csrf_token=True),
    "the admin by cookie alone": Caller(_cookie, "admin", needs_csrf_token=True),
    "the admin by the token of serve.json": Caller(_brings(bearer(RUNNING.token)), "admin"),
    "an agent": Caller(_key, "agent"),
    "nobody": Caller(_nothing),
    "a login that ended": Caller(_cookie_of_a_login_that_ended, has_csrf_token=True),
    "a cookie that somebody changed": Caller(_cookie_with_another_letter),
    "a key that was rotated": Caller(_rotated_key),
    "a key that was revoked": Caller(_revoked_key),
    "a key of a deleted agent": Caller(_key_of_a_deleted_agent),
    "a key with a letter more": Caller(_longer_key),
    "a key with a letter less": Caller(_shorter_key),
    "a key in the other case": Caller(_key_of_other_case),
    "a key's public part": Caller(_public_part),
    "a key without its prefix": Caller(_key_without_its_prefix),
    "the hash of a key, from the store": Caller(_hash_of_a_key),
    "the token of serve.json with a letter more": Caller(_brings(bearer(RUNNING.token + "x"))),
    "a device's key": Caller(_brings(bearer(f"dev_{'0' * 12}.{'0' * 43}"))),
    "garbage": Caller(_brings(bearer("\xe9 agt_. \t;"))),
    "an empty key": Caller(_brings(bearer(""))),
    "a password": Caller(_brings({"Authorization": "Basic YWRtaW46YWRtaW4="})),
}
