"""Ids and secrets: the one place where randomness enters."""

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Callable

SESSION_ID = re.compile(r"[0-9a-f]{16}")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_BASE62 = string.digits + string.ascii_letters

Ids = Callable[[], str]
"""Gives a fresh session id each time it is called: 16 lower-case hex digits."""


def random_session_id() -> str:
    """A fresh session id: 16 lower-case hex digits (64 random bits)."""
    return secrets.token_hex(8)


def random_base62(length: int) -> str:
    """Random text of digits and ASCII letters; 43 of them carry 256 bits."""
    return "".join(secrets.choice(_BASE62) for _ in range(length))


def secret_hash(secret: str) -> str:
    """What the store keeps of a secret: its SHA-256 in hex (the secrets are random, so no salt is needed)."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same_secret(stored_hash: str, secret: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(stored_hash, secret_hash(secret))
