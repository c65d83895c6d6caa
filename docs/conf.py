"""The documentation as a site: ``make docs``.

The pages of the reference are written anew by each build, from the lists of public names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import consilience

project = "consilience"
author = "The consilience developers"
release = version = consilience.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "consilience"
exclude_patterns = ["_build"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # attributes of the same name, such as arcs, are no links

REFERENCE = Path(__file__).parent / "reference"


def setup(app: Any) -> None:
    """Write the pages of the reference before anything is read."""
    app.connect("builder-inited", lambda app: write_reference())
    app.connect("autodoc-skip-member", is_of_scikit)


def is_of_scikit(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Whether a method is one that scikit-learn makes, whose text refers to its own pages."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def write_reference() -> None:
    """A page for the nouns, one for the verbs, and one for each namespace."""
    REFERENCE.mkdir(exist_ok=True)
    flat = {name: getattr(consilience, name) for name in consilience.__all__}
    spaces = {name: value for name, value in flat.items() if isinstance(value, ModuleType)}
    in_spaces = {name for space in spaces.values() for name in space.__all__}
    alone = [name for name in flat if name not in {*spaces, *in_spaces, "__version__"}]
    nouns = [name for name in alone if inspect.isclass(flat[name])]
    verbs = [name for name in alone if name not in nouns]
    write_page("nouns", "Nouns", "What the library computes with; all are immutable.", nouns)
    write_page("verbs", "Verbs", "Functions: what can be done.", verbs)
    written: dict[int, str] = {}
    for name, space in spaces.items():
        also = [f"`cs.{one}`" for one in space.__all__ if flat.get(one) is getattr(space, one)]
        more = f" Also flat: {', '.join(also)}." if also else ""
        places = {one: id(getattr(space, one)) for one in space.__all__}
        elsewhere = [f"`{written[at]}`" for at in places.values() if at in written]
        more += f" Described elsewhere: {', '.join(elsewhere)}." if elsewhere else ""
        what = inspect.getdoc(space).splitlines()[0]
        own = [one for one, at in places.items() if at not in written]
        written |= {places[one]: f"cs.{name}.{one}" for one in own}
        write_page(name, f"cs.{name}", what + more, (f"{name}.{one}" for one in own))
    pages = "\n".join(["nouns", "verbs", *spaces])
    text = f"# Reference\n\nEvery public name, once.\n\n```{{toctree}}\n{pages}\n```\n"
    (REFERENCE / "index.md").write_text(text, encoding="utf-8")


def write_page(file: str, title: str, what: str, names: Iterable[str]) -> None:
    """One page: a title, a sentence, and what the docstrings say."""
    entries = "".join(entry(name) for name in names)
    text = f"# {title}\n\n{what}\n\n```{{eval-rst}}\n{entries}```\n"
    (REFERENCE / f"{file}.md").write_text(text, encoding="utf-8")


def entry(name: str) -> str:
    """The directive for one public name."""
    found: Any = consilience
    for part in name.split("."):
        found = getattr(found, part)
    if inspect.isclass(found):
        return f".. autoclass:: consilience.{name}\n   :members:\n\n"
    kind = "autofunction" if callable(found) else "autodata"
    return f".. {kind}:: consilience.{name}\n\n"
