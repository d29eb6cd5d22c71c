"""The search of the wiki: which sections it finds, in which order, and what of them it shows."""

from agentsroom.core.article import Section
from agentsroom.gateways.wiki_search import Found, Part, search

PAGES = {
    "One": [
        Section(1, "One", "one", "It tells what a lease is."),
        Section(
            2,
            "Drift",
            "drift",
            "A file that changed. " + "x " * 100 + "Nobody held a LEASE on it" + " y" * 200,
        ),
    ],
    "Two": [Section(1, "Two", "two", "A room."), Section(2, "Leases", "leases", "Paths (*) are held.")],
}


def found(query: str) -> dict[str, list[str]]:
    return {name: [hit.anchor for hit in hits] for name, hits in search(PAGES, query).pages.items()}


def test_headings_come_first_and_letter_case_does_not_count() -> None:
    assert found("lease") == {"Two": ["leases"], "One": ["one", "drift"]}
    assert found("LEASE") == found("lease")


def test_a_section_has_every_word() -> None:
    assert found("lease changed") == {"One": ["drift"]}
    assert search(PAGES, "lease changed") == search(PAGES, "  changed lease  lease ")
    assert search(PAGES, "lease").total == 3


def test_signs_are_letters() -> None:
    assert found("(*)") == {"Two": ["leases"]}
    assert found(".*") == {}


def test_the_words_are_marked_in_the_heading_and_in_what_stands_about_them() -> None:
    (hit,) = search(PAGES, "lease changed").pages["One"]
    assert hit.title == [Part("Drift", False)]
    assert [part.text for part in hit.text if part.is_word] == ["changed"]
    (_, hit) = search(PAGES, "lease").pages["One"]
    text = "".join(part.text for part in hit.text)
    assert text.startswith("… x x ")
    assert text.endswith(" y …")
    assert "Nobody held a LEASE on it" in text
    assert len(text) < 260


def test_each_word_is_counted_where_none_has_them_all() -> None:
    assert search(PAGES, "lease room nothing") == Found(0, {}, {"lease": 3, "room": 1, "nothing": 0})
    assert search(PAGES, " ") == Found(0, {}, {})
