"""What every answer carries, whatever it is an answer to."""

from flask.testing import FlaskClient


def test_every_answer_carries_the_policy(client: FlaskClient) -> None:
    for path in ("/login", "/static/app.css", "/nothing", "/healthz"):
        with client.get(path) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Referrer-Policy"] == "no-referrer"
