"""The picture of who held what: which paths it shows, where their bars begin and end, what a bar says."""

from agentsroom.rooms.timeline import MOST_PATHS, ROW_PX, Span, State, lay_out


def span(path: str, begins: int, ends: int, holder: str = "ada", state: State = "ended") -> Span:
    return Span(path, holder, begins, ends, state)


def test_a_bar_lies_where_its_lease_did() -> None:
    [track] = lay_out([span("a.py", 250, 500)], 0, 1_000).tracks
    [bar] = track.bars
    assert (bar.x, bar.width, bar.holders, bar.state) == (25.0, 25.0, "ada", "ended")


def test_what_began_before_the_picture_is_cut_and_what_ended_before_it_is_left_out() -> None:
    timeline = lay_out([span("a.py", 0, 1_500), span("b.py", 0, 1_000)], 1_000, 2_000)
    [track] = timeline.tracks
    assert [(bar.x, bar.width) for bar in track.bars] == [(0.0, 50.0)]


def test_what_several_hold_at_one_time_is_one_bar_with_their_names() -> None:
    shared = [
        span("a.py", 0, 300, "ada"),
        span("a.py", 100, 400, "bob", "live"),
        span("a.py", 150, 200, "ada"),
        span("a.py", 500, 600, "cy"),
    ]
    [track] = lay_out(shared, 0, 1_000).tracks
    assert [(bar.holders, bar.x, bar.width, bar.state) for bar in track.bars] == [
        ("ada + bob", 0.0, 40.0, "live"),
        ("cy", 50.0, 10.0, "ended"),
    ]


def test_leases_that_only_touch_are_two_bars() -> None:
    [track] = lay_out([span("a.py", 0, 100), span("a.py", 100, 200)], 0, 1_000).tracks
    assert len(track.bars) == 2


def test_a_narrow_bar_names_nobody() -> None:
    [track] = lay_out([span("a.py", 0, 20), span("a.py", 500, 600)], 0, 1_000).tracks
    assert [bar.is_named for bar in track.bars] == [False, True]


def test_the_paths_held_last_come_first_and_those_without_room_are_counted() -> None:
    spans = [span(f"{number:02}.py", number, number + 1) for number in range(MOST_PATHS + 3)]
    timeline = lay_out(spans, 0, 100)
    assert timeline.tracks[0].path == f"{MOST_PATHS + 2:02}.py"
    assert [track.y for track in timeline.tracks] == [ROW_PX * row for row in range(MOST_PATHS)]
    assert (timeline.more, timeline.height) == (3, ROW_PX * MOST_PATHS)


def test_nothing_held_is_an_empty_picture_with_its_axis() -> None:
    timeline = lay_out([], 0, 900)
    assert (timeline.tracks, timeline.height, timeline.more) == ([], 0, 0)
    assert [(tick.x, tick.at) for tick in timeline.ticks] == [(0.0, 0), (33.3, 300), (66.7, 600)]


def test_a_holders_name_does_not_turn_around_what_stands_behind_it() -> None:
    [track] = lay_out([span("a.py", 0, 500, "a\u202eb"), span("a.py", 0, 500, "cy")], 0, 1_000).tracks
    assert track.bars[0].holders == "\u2068ab\u2069 + cy"
