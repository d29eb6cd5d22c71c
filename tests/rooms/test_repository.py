"""Repositories: found by `.git` alone, named by the main worktree, compared whatever way their address is written."""

import os
from pathlib import Path

import pytest

from agentsroom.rooms.repository import (
    Repository,
    find_repository,
    guess_root,
    repository_key,
    repository_name,
)
from tests.support.git import repository, submodule, worktree


@pytest.mark.rule("R2")
def test_the_nearest_repository_around_a_folder_is_found(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    inner = repository(outer / "vendor" / "inner")
    (inner / "src").mkdir()
    assert find_repository(str(inner / "src")) == Repository(str(inner), "inner")
    assert find_repository(str(outer / "vendor")) == Repository(str(outer), "outer")
    assert find_repository(str(outer / "not" / "there")) == Repository(str(outer), "outer")


@pytest.mark.rule("R2")
def test_a_linked_worktree_has_its_own_root_and_the_main_ones_name(tmp_path: Path) -> None:
    main = repository(tmp_path / "door")
    linked = worktree(main, tmp_path / "elsewhere" / "fix")
    assert find_repository(str(linked)) == Repository(str(linked), "door")


@pytest.mark.rule("R2")
def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inside = submodule(repository(tmp_path / "house"), repository(tmp_path / "door"), "front-door")
    assert find_repository(str(inside)) == Repository(str(inside), "front-door")


@pytest.mark.rule("R3")
def test_outside_any_repository_none_is_found(tmp_path: Path) -> None:
    assert find_repository(str(tmp_path)) is None


@pytest.mark.parametrize("content", ["", "gitdir: nowhere", "\x00\xff", "gitdir: ."])
def test_a_broken_pointer_still_marks_a_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert find_repository(str(tmp_path)) == Repository(str(tmp_path), tmp_path.name)


def test_a_pointer_to_a_pipe_or_a_long_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "commondir")
    (tmp_path / ".git").write_text("gitdir: .")
    assert find_repository(str(tmp_path)) == Repository(str(tmp_path), tmp_path.name)
    (tmp_path / "commondir").unlink()
    (tmp_path / "commondir").write_text(" " * 20_000 + "/elsewhere/.git")
    assert find_repository(str(tmp_path)) == Repository(str(tmp_path), tmp_path.name)


@pytest.mark.rule("R113", "R4")
@pytest.mark.parametrize(
    "url",
    [
        "https://code.example.org/team/door.git",
        "https://code.example.org/team/door",
        "https://code.example.org/team/door/",
        "https://user:secret@Code.Example.org/team/door.git",
        "ssh://git@code.example.org:2222/team/door.git",
        "git@code.example.org:team/door.git",
        "code.example.org:team/door",
    ],
)
def test_one_repository_has_one_key_and_name_whatever_way_its_address_is_written(url: str) -> None:
    assert repository_key(url) == "code.example.org/team/door"
    assert repository_name(url) == "door"


@pytest.mark.rule("R113")
def test_other_addresses_are_other_repositories() -> None:
    urls = ["https://a.example.org/x/door", "https://a.example.org/y/door", "https://b.example.org/x/door"]
    assert len({repository_key(url) for url in urls}) == 3


@pytest.mark.rule("R113")
@pytest.mark.parametrize(
    ("cwd", "root"),
    [("/home/x/door/src/deep", "/home/x/door"), ("/home/x/door", "/home/x/door"), ("/srv/w1", "/srv/w1")],
)
def test_the_top_of_a_checkout_elsewhere_is_guessed_from_its_name(cwd: str, root: str) -> None:
    assert guess_root(cwd, "https://code.example.org/door.git") == root
