"""Paths of claims: made absolute once, whatever way they are written; folders cover what is in them."""

import os
import unicodedata
from pathlib import Path

import pytest

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.platform import LocalFiles
from agentsroom.rooms.paths import Lexical, as_key, covers, overlap, resolve
from tests.support.stores import Seat, Store


class FoldingFiles(LocalFiles):
    """This machine's files, as if letter case did not count."""

    def folds_case(self, _path: str) -> bool:
        return True


def path_of(seat: Seat, path: str) -> str:
    """The absolute path that a claim of it is stored under."""
    claimed = seat.claim(path)
    assert claimed["ok"] is True
    seat("lease_release", path=path)
    found: str = claimed["lease"]["path"]
    return found


@pytest.mark.rule("R101")
def test_a_path_is_relative_to_the_cwd_of_its_session(store: Store) -> None:
    app = store.folder / "app"
    app.mkdir()
    seat = store.join(store.local(cwd=app))
    expected = {
        "src/wire.go": app / "src/wire.go",
        "./src//wire.go": app / "src/wire.go",
        "src/": app / "src",
        ".": app,
        "../lib/a.py": store.folder / "lib/a.py",
        "a.py/../b.py": app / "b.py",
        "../" * 40 + "etc/x": Path("/etc/x"),
        f"//{app}/a": app / "a",
    }
    assert {path: path_of(seat, path) for path in expected} == {
        path: str(absolute) for path, absolute in expected.items()
    }


@pytest.mark.rule("R101")
def test_links_are_followed_where_the_files_are_ours(store: Store) -> None:
    (store.folder / "data" / "app").mkdir(parents=True)
    (store.folder / "link").symlink_to(store.folder / "data" / "app")
    (store.folder / "loop").symlink_to(store.folder / "loop")
    ours = store.join()
    assert path_of(ours, "link/a.py") == str(store.folder / "data/app/a.py")
    assert path_of(ours, "link/../b.py") == str(store.folder / "data/b.py")
    assert path_of(ours, "loop/x").endswith("/loop/x")
    theirs = store.join(store.agent(), host="elsewhere", cwd=str(store.folder))
    assert path_of(theirs, "link/a.py") == str(store.folder / "link/a.py")
    assert path_of(theirs, "link/../b.py") == str(store.folder / "b.py")


@pytest.mark.rule("R101")
@pytest.mark.skipif(not os.path.islink("/proc/self/cwd"), reason="no process tells its links here")
@pytest.mark.parametrize("path", ["/proc/self/cwd/a.py", "/dev/fd/0", "/proc/self/exe"])
def test_what_a_process_does_is_not_told_by_where_its_links_lead(store: Store, path: str) -> None:
    (store.folder / "there").symlink_to("/proc")
    seat = store.join(store.agent(), host=store.runtime.machine.host, cwd=str(store.folder))
    assert path_of(seat, path) == path
    assert path_of(seat, f"there/..{path}") == path
    assert path_of(seat, path.replace("/proc", "there", 1)) == path


@pytest.mark.rule("R102")
@pytest.mark.parametrize(
    "path",
    ["~/a.py", "$HOME/a.py", "C:/a.py", "a%2fb.py", "{x}.md", "new file.md", ".../a", "-rf", "a\tb", "'\"\\"],
)
def test_nothing_in_a_name_is_special(store: Store, path: str) -> None:
    assert path_of(store.join(), path) == f"{store.folder}/{path}"


@pytest.mark.rule("R102")
def test_an_address_is_a_path_like_any_other(store: Store) -> None:
    assert path_of(store.join(), "file:///etc/x") == f"{store.folder}/file:/etc/x"


@pytest.mark.rule("R102")
def test_a_star_is_a_letter_and_earns_a_warning(store: Store) -> None:
    seat, other = store.join(), store.join()
    claimed = seat.claim("src/*.py")
    assert (claimed["ok"], claimed["lease"]["path"]) == (True, f"{store.folder}/src/*.py")
    assert "literal" in claimed["warning"]
    assert "warning" not in seat.claim("src/a.py")
    assert other.claim("src/b.py")["ok"] is True
    assert other.claim("src/*.py")["ok"] is False


@pytest.mark.rule("R102")
def test_two_unicode_forms_are_two_files(store: Store) -> None:
    seat, other = store.join(), store.join()
    composed = unicodedata.normalize("NFC", "Hi\u1ebfu.md")
    assert seat.claim(composed)["ok"] is True
    assert other.claim(unicodedata.normalize("NFD", composed))["ok"] is True
    assert other.claim(composed)["ok"] is False


@pytest.mark.rule("R103")
def test_letter_case_counts_as_the_file_system_says(store: Store) -> None:
    seat, other = store.join(), store.join()
    seat.claim("Wire.go")
    assert other.claim("wire.go")["ok"] is True
    folding = FoldingFiles()
    upper, lower = (resolve(path, "/r", None, folding) for path in ("SRC/Wire.go", "src/wire.GO"))
    assert upper.key == lower.key
    assert (upper.path, lower.path) == ("/r/SRC/Wire.go", "/r/src/wire.GO")
    assert resolve("SRC/a", "/r", None, Lexical()).key != resolve("src/a", "/r", None, Lexical()).key


@pytest.mark.rule("R103")
def test_a_case_sensitive_folder_is_known_as_such(tmp_path: Path) -> None:
    (tmp_path / "Probe").touch()
    is_insensitive = (tmp_path / "pROBE").exists()
    assert LocalFiles().folds_case(str(tmp_path / "Probe")) is is_insensitive
    assert LocalFiles().folds_case(str(tmp_path / "Probe" / "not" / "there")) is is_insensitive


@pytest.mark.rule("R105")
def test_every_tool_means_the_same_file_by_the_same_path(store: Store) -> None:
    (store.folder / "real").mkdir()
    (store.folder / "real" / "a.py").write_text("one")
    (store.folder / "link").symlink_to(store.folder / "real")
    seat, other = store.join(), store.join()
    written, meant = "link//./a.py", str(store.folder / "real" / "a.py")
    assert seat.claim(written)["lease"]["path"] == meant
    assert other("lease_check", path=written)["lease"]["path"] == meant
    assert seat("lease_renew", path=meant)["lease"]["path"] == meant
    seat("note_read", path=written)
    (store.folder / "real" / "a.py").write_text("two")
    assert (seat.drift(meant)["path"], seat.drift(meant)["changed"]) == (meant, True)
    assert seat.drift(written)["changed"] is True
    assert seat("lease_release", path=meant) == {}


@pytest.mark.rule("R106")
@pytest.mark.parametrize("tool", ["lease_claim", "lease_check", "lease_renew", "note_read", "drift_check"])
def test_a_path_that_means_no_place_is_refused(store: Store, tool: str) -> None:
    homeless = store.join(store.agent())
    seat = store.join()
    for caller, path in ((homeless, "a.py"), (homeless, ""), (seat, ""), (seat, "/p" * 2048 + "x")):
        with pytest.raises(InvalidArgument, match="path"):
            caller(tool, path=path, **({"sha256": "0" * 64} if "lease" not in tool else {}))
    assert store.rows("leases") == []


@pytest.mark.rule("R106")
def test_an_absolute_path_needs_no_cwd_and_may_have_4096_bytes(store: Store) -> None:
    homeless = store.join(store.agent())
    assert homeless.claim("/p" * 2048)["ok"] is True
    with pytest.raises(InvalidArgument, match="bytes"):
        homeless.claim("/" + "\u044f" * 2048)


@pytest.mark.rule("R104", "R140")
@pytest.mark.parametrize("name", [b"\xff", b"line\rfeed", b"\x1b[1m"])
def test_a_link_to_a_name_that_could_not_be_given_is_refused(store: Store, name: bytes) -> None:
    target = os.fsencode(store.folder) + b"/" + name
    os.mkdir(target)
    (store.folder / "link").symlink_to(os.fsdecode(target))
    seat = store.join()
    before = store.everything()
    with pytest.raises(InvalidArgument, match="path: leads to a name"):
        seat.claim("link/a.py")
    assert store.everything() == before


@pytest.mark.rule("R109")
@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("/r/app", "/r/app/src/a.py", True),
        ("/r/app", "/r/app", True),
        ("/r/app", "/r/app-2", False),
        ("/r/app/a.py", "/r/app/a.pyc", False),
        ("/", "/r", True),
        ("/r/x/a.py", "/r/y/a.py", False),
    ],
)
def test_a_key_begins_the_keys_of_what_it_covers(one: str, other: str, meet: bool) -> None:
    assert overlap(as_key(one), as_key(other)) is meet
    assert overlap(as_key(other), as_key(one)) is meet
    assert covers(as_key(one), as_key(other)) is meet


def test_no_key_meets_nothing() -> None:
    assert not overlap(None, None)
    assert not overlap("/a/", None)
