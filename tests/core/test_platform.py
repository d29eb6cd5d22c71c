"""What is asked of the operating system, and that nobody else waits for it."""

import hashlib
import subprocess
import sys
from pathlib import Path

from agentsroom.core.platform import PIECE

PIECES = 20
SERVER = """
from gevent import monkey

monkey.patch_all()

import sys

import gevent

from agentsroom.core.platform import sha256_of

turns = 0


def others():
    global turns
    while True:
        turns += 1
        gevent.sleep(0)


gevent.spawn(others)
print(sha256_of(sys.argv[1]), turns)
"""


def test_in_a_server_a_long_file_is_read_while_others_have_their_turns(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * PIECE * PIECES)
    done = subprocess.run([sys.executable, "-c", SERVER, path], capture_output=True, text=True, check=True)
    digest, turns = done.stdout.split()
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert int(turns) >= PIECES
