"""A shipped page as HTML: anchors, links, tables, code, and its sections in plain words."""

from agentsroom.core.article import Article, Section, render_article

PAGE = """# The page

See [there](Other.md#x), [below](#two-words), [nowhere](nope.txt), [out](https://example.org/?a=b "title").

<!-- [[[cog
cog.out("hidden")
]]] -->
## Two `words`

| a | b |
|---|--:|
| 1 | <b>2</b> |

<!-- [[[end]]] -->
## Two words

```console serving
$ agents-room who
nobody
$ agents-room rooms
```

```json
{"a": "<b>"}
```

[x](javascript:alert(1)) ![picture](room.png) <div onclick="x">
"""


def rendered(text: str = PAGE) -> Article:
    return render_article(
        text, lambda link: None if "nope" in link else link.replace("Other.md", "/wiki/Other")
    )


def test_the_first_heading_is_the_title_and_not_in_the_html() -> None:
    assert rendered().title == "The page"
    assert "The page" not in rendered().html


def test_links_are_resolved_and_those_to_nowhere_are_text() -> None:
    assert (
        '<p>See <a href="/wiki/Other#x">there</a>, <a href="#two-words">below</a>, nowhere, '
        '<a href="https://example.org/?a=b">out</a>.</p>'
    ) in rendered().html


def test_headings_have_the_anchors_that_the_files_have_elsewhere_too() -> None:
    html = rendered().html
    assert '<h2 id="two-words">Two <code>words</code><a class="anchor" href="#two-words" aria-label=' in html
    assert '<h2 id="two-words-1">Two words<a class="anchor" href="#two-words-1"' in html


def test_tables_stand_in_a_region_that_scrolls_and_has_a_name_of_its_own() -> None:
    html = render_article(PAGE + "\n| c |\n|---|\n| 3 |\n", lambda link: link).html
    start = '<div class="scroll-x" role="region" aria-label="Table 1: Two words" tabindex="0"><table>'
    assert start in html
    assert 'aria-label="Table 2: Two words"' in html
    assert '<th scope="col">b</th>' in html
    assert "style" not in html


def test_what_is_copied_of_an_example_are_its_commands() -> None:
    html = rendered().html
    assert 'data-copy="agents-room who\nagents-room rooms"' in html
    assert '<pre><span class="prompt">$ </span>agents-room who\n<span class="prompt">nobody</span>' in html
    assert 'data-copy="{&quot;a&quot;: &quot;&lt;b&gt;&quot;}"' in html
    assert '<pre>{"a": "&lt;b&gt;"}\n</pre>' in html


def test_comments_are_left_out_and_elements_are_text() -> None:
    html = rendered().html
    assert "cog" not in html
    assert "--&gt;" not in html
    assert "<td>&lt;b&gt;2&lt;/b&gt;</td>" in html
    assert '[x](javascript:alert(1)) picture &lt;div onclick="x"&gt;' in html


def test_sections_are_in_plain_words() -> None:
    assert rendered().sections == (
        Section(1, "The page", "", "See there, below, nowhere, out."),
        Section(2, "Two words", "two-words", "a b 1 2"),
        Section(
            2,
            "Two words",
            "two-words-1",
            '$ agents-room who nobody $ agents-room rooms {"a": "<b>"} [x](javascript:alert(1)) picture',
        ),
    )
