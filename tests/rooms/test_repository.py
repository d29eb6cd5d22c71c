"""Repositories: found by `.git` alone, named by the main worktree, compared whatever way their address is written."""

import os
from pathlib import Path

import pytest

from agentsroom.rooms.repository import (
    Repository,
    find_origin,
    find_repository,
    guess_root,
    is_address,
    repository_key,
    repository_name,
)
from tests.support.git import cloned_from, repository, submodule, worktree


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


def origin_around(folder: Path) -> str | None:
    found = find_repository(str(folder))
    assert found is not None
    return find_origin(found)


@pytest.mark.rule("R16")
def test_the_origin_of_a_checkout_is_that_of_all_its_worktrees(tmp_path: Path) -> None:
    main = cloned_from("git@code.example.org:team/door.git", tmp_path / "door")
    linked = worktree(main, tmp_path / "elsewhere" / "fix")
    assert origin_around(main) == origin_around(linked) == "git@code.example.org:team/door.git"


@pytest.mark.rule("R16")
def test_a_submodules_origin_is_its_own(tmp_path: Path) -> None:
    house = cloned_from("https://code.example.org/house", tmp_path / "house")
    inside = submodule(house, repository(tmp_path / "door"), "front-door")
    assert origin_around(inside) is None  # it came from a folder
    config = house / ".git" / "modules" / "front-door" / "config"
    config.write_text(config.read_text().replace(str(tmp_path / "door"), "https://code.example.org/door"))
    assert origin_around(inside) == "https://code.example.org/door"


@pytest.mark.rule("R16")
@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://user:secret@code.example.org/door.git", "https://code.example.org/door.git"),
        ("https://token@code.example.org/door", "https://code.example.org/door"),
        ("ssh://git@code.example.org:2222/door", "ssh://code.example.org:2222/door"),
        ("/srv/git/door.git", None),
        ("../door", None),
        ("file:///srv/git/door.git", None),
    ],
)
def test_an_origin_is_told_without_credentials_and_only_where_others_can_have_it(
    tmp_path: Path, url: str, origin: str | None
) -> None:
    assert origin_around(cloned_from(url, tmp_path / "door")) == origin


@pytest.mark.parametrize(
    ("config", "origin"),
    [
        ('[Remote "origin"] # ours\n\tURL = "https://h/d" ; of old\n', "https://h/d"),
        ('[remote "fork"]\nurl = https://h/fork\n[core]\nurl = https://h/core\n', None),
        ('[remote "origin"]\nfetch = +refs\n[branch "main"]\nurl = https://h/d\n', None),
        ('[remote "origin"]\nurl = https://h/d\x1b[2J\n', None),
        ("\x00" * 100, None),
    ],
)
def test_the_configuration_is_read_as_git_reads_it(tmp_path: Path, config: str, origin: str | None) -> None:
    (repository(tmp_path / "door") / ".git" / "config").write_text(config)
    assert origin_around(tmp_path / "door") == origin


def test_a_pipe_or_a_broken_pointer_for_a_configuration_holds_nobody_up(tmp_path: Path) -> None:
    config = repository(tmp_path / "door") / ".git" / "config"
    config.unlink()
    assert origin_around(tmp_path / "door") is None
    os.mkfifo(config)
    assert origin_around(tmp_path / "door") is None
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("\x00")
    assert origin_around(tmp_path / "broken") is None


def test_only_what_git_could_fetch_from_is_an_address() -> None:
    good = ["https://[::1]:3000/door", "gh:team/door", "file:///srv/door", "/srv/git/my door.git", "a@b:/d"]
    bad = ["not a url", "door", "https://host", "https://", "git@host:", "null", "../door", "/", ""]
    assert [one for one in [*good, *bad] if is_address(one)] == good
