"""A stranger's Markdown as HTML: what runs, loads or pretends never comes out, and what was pasted stays readable."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsroom.core.markdown import MOST_CHARACTERS, MOST_DEPTH, MOST_MARKS, TAGS, render_message, visible
from tests.support import cases
from tests.support.stores import Json

CASES = [case for case in cases.read("xss.jsonl") if "msg.body" in case["fields"]]
LIMIT = 65_536
HOSTILE = {
    "quotes": ">" * LIMIT,
    "spaced quotes": "> " * (LIMIT // 2),
    "brackets": "[" * LIMIT,
    "pictures": "![" * (LIMIT // 2),
    "links": "[a](" * (LIMIT // 4),
    "nested lists": "- " * (LIMIT // 2),
    "deeper and deeper": "".join(" " * depth + "- a\n" for depth in range(0, 700, 2)),
    "stars": "*a" * (LIMIT // 2),
    "backticks": "".join("`" * length + " " for length in range(1, 360)),
    "a wide table": "|".join("a" * 999) + "\n" + "|".join("-" * 999) + "\n" + "a\n" * 9_000,
}


class Html(HTMLParser):
    """The elements and words of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.text += "\n" if tag == "br" else ""
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def html_of(text: str) -> Html:
    """The fragment, which is well-formed and has nothing but what a message may have."""
    html = Html(render_message(text))
    assert not html.open
    assert set(html.tags) <= TAGS
    assert html.attributes <= {("a", "href"), ("a", "rel"), ("ol", "start")}
    assert all(re.match(r"(?i:https?)://|mailto:", link) for link in html.links)
    return html


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_nothing_of_a_hostile_body_comes_out_but_words_and_allowed_links(case: Json) -> None:
    payload = case["payload"]
    html = html_of(payload)
    if case.get("literal"):
        assert html.text == payload
    if case["expect"].get("keep") == "link":
        found = re.search(r"\((.*?)\)", payload)
        assert found is not None
        assert html.links == [found[1]]
    for word in re.findall(r"\w{4,}", re.sub(r"\]\(.*\)|^\s*`+", "", payload, flags=re.MULTILINE)):
        assert word in html.text


@given(
    st.text(st.sampled_from("[]()<>*_`~|-+#:!&\\/\"' \t\n.01ahtpsjv\x00\x1b\x85\u202e\ud800é"), max_size=200)
)
def test_whatever_comes_gives_clean_html(text: str) -> None:
    html_of(text)


@given(st.text(max_size=300))
def test_no_letter_is_lost(text: str) -> None:
    letters = "".join(filter(str.isalnum, visible(text)))
    assert "".join(filter(str.isalnum, html_of(text).text)) == letters or re.search(
        r"\]\(|^ *\d|```|~~~", text, re.MULTILINE
    )


@pytest.mark.parametrize(
    "text",
    [
        "mend agentsroom/core/__init__.py and __main__.py",
        "file:src/*.py and tests/*.py, **/*.md too",
        "def f(*args, **kwargs): return a * b * c",
        r"C:\new\_x, and the pattern ^\d+\.\[x\]$",
        "a &lt; b &amp;&amp; c",
        "[WARN]: disk\n[INFO]: fine",
        ">>> 1 + 1\n2",
        'Traceback (most recent call last):\n  File "a.py", line 3, in __init__\n    self.x = *y\n          ^',
        "total 3\n-----\n  one\n\ttwo  three",
        "x = `a\nand `b",
        "a | b\n--|--\n1 | 2 | 3",
        "5 > 3 < 4; a|b; ~/x; $HOME; #12",
    ],
)
def test_what_was_pasted_is_shown_letter_for_letter(text: str) -> None:
    html = html_of(text)
    assert html.text == text
    assert {"em", "strong", "a", "code", "blockquote", "ol"}.isdisjoint(html.tags)


@pytest.mark.parametrize(
    "diff",
    [
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n # head\n-- old\n+- new",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1. a\n+2. b",
        "@@ -1,3 +1,3 @@\n ctx\n\n - a\n+ b",
        "- old()\n+ new()\n  same()",
    ],
)
def test_a_pasted_diff_keeps_its_signs(diff: str) -> None:
    html = html_of(f"See:\n\n{diff}\n\nDone **now**.")
    assert html.tags == ["p", "pre", "code", "p", "strong"]
    assert html.text == f"See:{diff}\nDone now."


def test_lists_of_one_kind_are_lists() -> None:
    assert html_of("- a\n- b\n\n3. c\n4. d").tags == ["ul", "li", "li", "ol", "li", "li"]


def test_markdown_is_rendered() -> None:
    text = "# Done\n**12** of *14* ~~pass~~ `a_b`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n\n```py\nx = 1\n```\n***"
    assert render_message(text) == (
        "<p><strong>Done</strong></p><p><strong>12</strong> of <em>14</em> <s>pass</s> <code>a_b</code></p>"
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
        "<blockquote><p>said</p></blockquote><pre><code>x = 1\n</code></pre><hr>"
    )


@pytest.mark.parametrize(
    ("text", "links", "shown"),
    [
        ("see https://example.org/a_(b)?c=d#e, or", ["https://example.org/a_(b)?c=d#e"], None),
        ("(http://127.0.0.1:8765/rooms).", ["http://127.0.0.1:8765/rooms"], None),
        ("<https://example.org/*x*>", ["https://example.org/*x*"], "https://example.org/*x*"),
        ("<mira@example.org>", ["mailto:mira@example.org"], "mira@example.org"),
        ("main.py, www.example.org, xhttps://a.b, https://", [], None),
        ("`https://example.org/`", [], "https://example.org/"),
        ("[the https://a.example](https://b.example)", ["https://b.example"], "the https://a.example"),
        ("![p](https://example.org/p.png)", ["https://example.org/p.png"], "p"),
        ("![](https://example.org/p.png)", ["https://example.org/p.png"], "https://example.org/p.png"),
        ("[![p](https://a.example/p)](https://b.example)", ["https://b.example"], "p"),
        ("![p](/static/p.png) [x](//evil.example)", [], None),
        ("[x](HTTPS://example.org)", ["HTTPS://example.org"], "x"),
        ("[x](https:example.org) [y](http:///a) [z](https://)", [], None),
    ],
)
def test_links(text: str, links: list[str], shown: str | None) -> None:
    html = html_of(text)
    assert html.links == links
    assert html.text == (text if shown is None else shown)


def test_control_characters_are_shown_as_symbols() -> None:
    assert html_of("a\x00\x1b[31m\x7f\x85\ud800\tb\r\nc\rd\x0b").text == "a␀␛[31m␡��\tb\nc\nd␋"


@pytest.mark.parametrize("text", [">", "-", "#", "*", "\n-\n"])
def test_marks_without_words_are_shown(text: str) -> None:
    assert html_of(text).text == text.strip()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_takes_long_to_read_is_shown_as_it_was_written(name: str) -> None:
    text = HOSTILE[name]
    for part in (text, text[:MOST_CHARACTERS], text[: MOST_MARKS // 2]):
        html = html_of(part)
        assert len(render_message(part)) < 10 * len(part)
        if len(part) > MOST_MARKS:
            assert html.text == part.strip("\n")


def test_what_nests_too_deep_loses_nothing() -> None:
    for depth in range(1, 40):
        assert html_of("> " * depth + "deep").text.endswith("deep")
        assert html_of("- " * depth + "deep").text.endswith("deep")


def test_the_limits_are_what_they_say() -> None:
    told = (Path(__file__).parents[2] / "wiki" / "Architecture.md").read_text()
    assert (
        f"over\n  {MOST_CHARACTERS:,} characters, with over {MOST_MARKS:,} marks or nested deeper than {MOST_DEPTH}"
        in told
    )
    assert "strong" in html_of("**a** " + "b" * (MOST_CHARACTERS - 6)).tags
    assert "strong" not in html_of("**a** " + "b" * (MOST_CHARACTERS - 5)).tags
    assert "strong" in html_of("**a** " + "-" * (MOST_MARKS - 4)).tags
    assert "strong" not in html_of("**a** " + "-" * (MOST_MARKS - 3)).tags
