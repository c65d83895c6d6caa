"""Pieces of HTML that a report is put together from: a page, sections, tables, sentences.

A page has one style sheet, which its policy names by its hash, and nothing else: no script, no
style attribute, no request. It is light or dark as the reader's screen is, and white on paper.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from typing import Any

from consilience.show.panels.question import Grid
from consilience.show.picture import shortened
from consilience.show.svg_axes import CHART_STYLE

__all__ = ["CELL_LENGTH", "document", "figure", "section", "sentences", "table", "with_intervals"]

N_ROWS = 60
CELL_LENGTH = 80
UNBROKEN_TO = "\u00a0to\u00a0"  # so that both ends of a range stand on one line
ROUNDING = 1e-12  # what is smaller is 0
TINY = re.compile(r"[-\d.]*\de-\d+")

STYLE = (
    ":root{color-scheme:light dark;--page:#ffffff;--ink:#1f2937;--soft:#526075;--box:#f1f5f9;"
    "--line:#7b8ba1}"
    "@media(prefers-color-scheme:dark){:root{--page:#14181f;--ink:#e5e9f0;--soft:#a7b3c5;"
    "--box:#1f2630;--line:#7488a3}}"
    "body{font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;max-width:62em;"
    "margin:2em auto;padding:0 1.2em;color:var(--ink);background:var(--page)}"
    "h1{font-size:1.7em;margin:0 0 .2em;overflow-wrap:anywhere}"
    "h2{font-size:1.25em;margin:2.2em 0 .5em;padding-top:.6em;border-top:1px solid var(--line)}"
    "h3{font-size:1em;margin:1.4em 0 .3em}"
    "h2,h3,.long{overflow-wrap:anywhere}.long{max-width:40em}.whole{white-space:nowrap}"
    "p,li{max-width:50em;overflow-wrap:anywhere}.soft{color:var(--soft)}"
    ".findings{background:var(--box);border-left:4px solid #b45309;border-radius:4px;"
    "padding:.7em 1.2em .7em 2em}"
    ".scroll{overflow-x:auto;margin:.6em 0}"
    "svg{max-width:100%;height:auto}.legend text{fill:var(--soft)}"
    "table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2em .7em;text-align:left;border-bottom:1px solid var(--box)}"
    "th{border-bottom-color:var(--line);font-weight:600}.number{text-align:right}"
    "nav ul{list-style:none;padding:0;margin:.8em 0;display:flex;flex-wrap:wrap;gap:.2em 1.1em}"
    "a{color:inherit}"
    "@media print{:root{--page:#ffffff;--ink:#000000;--soft:#333333;--box:#f1f5f9}nav{display:none}"
    "body{margin:0;max-width:none;font-size:10pt}section{break-before:page}"
    "figure,tr{break-inside:avoid}.scroll{overflow:visible}h2{border:0;margin-top:0}"
    "table{font-size:8pt}th,td{padding:.1em .4em;overflow-wrap:anywhere}"
    "th{min-width:4.5em}.number{white-space:nowrap}td:first-child{overflow-wrap:break-word}}"
    "figure{margin:.8em 0}" + CHART_STYLE
)


def document(title: str, body: str) -> str:
    """A whole page."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="icon" href="data:,">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{body}</main></body></html>\n"
    )


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """A section with its heading; ``name`` is its anchor."""
    return f'<section id="{name}"><h2>{_text(title)}</h2>\n{"".join(parts)}</section>\n'


def figure(svg: str) -> str:
    """A picture, wide ones to be scrolled; nothing for an empty one."""
    return f'<figure><div class="scroll" tabindex="0">{svg}</div></figure>\n' if svg else ""


def sentences(notes: Iterable[str], *, kind: str = "soft") -> str:
    """A paragraph for each sentence."""
    return "".join(f'<p class="{kind}">{_text(note, 600)}</p>\n' for note in notes)


def table(
    found: Grid, *, caption: str = "", n_rows: int = N_ROWS, length: int = CELL_LENGTH
) -> str:
    """A plain table; of a long one the first rows, and how many there are.

    Texts of more than ``length`` letters are cut.
    """
    columns, rows = list(found["columns"]), list(found["rows"])
    if not rows:
        return ""
    numbers = [all(_is_number(row[k]) for row in rows) for k in range(len(columns))]
    head = "".join(_cell(name, n, "th", length) for name, n in zip(columns, numbers, strict=True))
    lines = "".join(
        f"<tr>{''.join(_cell(c, n, 'td', length) for c, n in zip(r, numbers, strict=True))}</tr>\n"
        for r in rows[:n_rows]
    )
    more = f'<p class="soft">... and {len(rows) - n_rows:,} more</p>' if len(rows) > n_rows else ""
    label = f"<h3>{_text(caption)}</h3>" if caption else ""
    return (
        f'{label}<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>{more}\n"
    )


def with_intervals(found: Grid) -> Grid:
    """The table with the ends of an interval in the cell of its number, as they fit on paper."""
    columns = list(found["columns"])
    ends = {
        k: (columns.index(f"{name}: low"), columns.index(f"{name}: high"))
        for k, name in enumerate(columns)
        if {f"{name}: low", f"{name}: high"} <= set(columns)
    }
    inner = {k for pair in ends.values() for k in pair}
    kept = [k for k in range(len(columns)) if k not in inner]
    rows = [
        [_with_ends(row[k], *(row[e] for e in ends[k])) if k in ends else row[k] for k in kept]
        for row in found["rows"]
    ]
    return {"columns": [columns[k] for k in kept], "rows": rows}


def _with_ends(value: Any, low: Any, high: Any) -> str:
    told = _shown(value)
    return told if low is None else f"{told} ({_shown(low)} to {_shown(high)})"


def _is_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float)


def _cell(cell: Any, is_number: bool, tag: str, length: int) -> str:
    is_long = isinstance(cell, str) and len(cell) > CELL_LENGTH
    kind = ' class="number"' if is_number else ' class="long"' if is_long else ""
    scope = ' scope="col"' if tag == "th" else ""
    text = _whole(_text(_shown(cell), length).replace(" to ", UNBROKEN_TO))
    return f"<{tag}{scope}{kind}>{text}</{tag}>"


def _whole(text: str) -> str:
    """A text in which no line ends inside a number such as 1e-07."""
    return TINY.sub(r'<span class="whole">\g<0></span>', text)


def _shown(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        cell = cell if abs(cell) > ROUNDING else 0.0
        return f"{cell:,.0f}" if cell.is_integer() and abs(cell) >= 1 else f"{cell:.4g}"
    return str(cell)


def _text(text: str, length: int = CELL_LENGTH) -> str:
    return html.escape(shortened(text, length)) if text else ""
