"""The stylesheet against the templates and the script, both ways: no rule for nothing, no name without a rule."""

import re
from pathlib import Path
from typing import get_args

from agentsroom.core.event_kinds import Tone
from agentsroom.rooms.delivery import State
from agentsroom.rooms.liveness import Liveness

ROOT = Path(__file__).parents[2]
CSS = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", (ROOT / "static/app.css").read_text(), flags=re.DOTALL)
SCRIPT = (ROOT / "static/live.js").read_text()
ARTICLE = ROOT / "agentsroom/core/article.py"
TEMPLATES = "".join(path.read_text() for path in [*sorted((ROOT / "templates").rglob("*.html")), ARTICLE])


def classes() -> set[str]:
    """Every class that a template gives to an element."""
    return {one for given in re.findall(r'\bclass="([^"]*)"', TEMPLATES) for one in given.split()}


def attribute(name: str) -> set[str]:
    """Every value that a template gives to the attribute as it stands."""
    return set(re.findall(rf'\b{name}="([\w-]+)"', TEMPLATES))


def states() -> set[str]:
    """Every state that a template, the script or a value of the code names."""
    words = re.search(r"WORDS = \{(.*?)\}", SCRIPT)
    assert words is not None
    return attribute("data-state") | {
        *re.findall(r"(\w+):", words[1]),
        *State,
        *get_args(Liveness),
        *get_args(Tone),
    }


def test_every_class_has_a_rule_and_every_rule_its_class_or_id() -> None:
    assert set(re.findall(r"\.([A-Za-z][\w-]*)", CSS)) == classes()
    assert set(re.findall(r"#([A-Za-z][\w-]*)", CSS)) <= attribute("id")


def test_every_value_is_used_and_every_use_has_a_value() -> None:
    named = set(re.findall(r"(--[\w-]+)\s*:", CSS))
    assert named == set(re.findall(r"var\((--[\w-]+)", CSS))


def test_every_state_has_a_tone_and_every_tone_is_used() -> None:
    assert set(re.findall(r'\[data-state="([\w-]+)"\]', CSS)) == states()
    for name in ("data-tone", "data-rank", "data-shape"):
        assert set(re.findall(rf'\[{name}="([\w-]+)"\]', CSS)) == attribute(name), name
