"""Results and their documents -> one HTML page: the verdicts, and the documents with every quote highlighted.

No network, no script. Everything that comes from a case, a policy or a model is escaped; the page's style is allowed by
its hash in the Content-Security-Policy, and nothing else is.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.review.report_text import summary
from circumspect.review.values import Citation, Criterion, CriterionResult

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 76rem; margin: 2rem auto; padding-inline: 1rem; }
article { border: 1px solid light-dark(#d6d6d6, #444); border-radius: .5rem; padding: .75rem 1rem; margin-block: 1rem; }
.status { font-weight: 700; padding: .1rem .5rem; border-radius: .3rem; color: #fff; }
.MET { background: #1c7c3c; } .NOT_MET { background: #b3261e; } .UNCERTAIN { background: #6b5e00; }
.soft { color: light-dark(#555, #aaa); font-size: .9em; }
blockquote { margin: .5rem 0; padding-inline-start: .75rem; border-inline-start: .25rem solid #c9a400; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
mark { background: light-dark(#fff2a8, #6b5e00); color: inherit; } mark:target { outline: 2px solid #c9a400; }
table { border-collapse: collapse; } td, th { text-align: start; padding: .1rem .75rem .1rem 0; vertical-align: top; }
"""


def page(
    results: Sequence[CriterionResult], criteria: Mapping[str, Criterion], documents: Mapping[str, KnowledgeDocument]
) -> str:
    allowed = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    title = f"Review of {', '.join(dict.fromkeys(result.case for result in results)) or 'nothing'}"
    quoted = [citation for result in results for citation in result.citations]
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" content="',
            f"default-src 'none'; style-src 'sha256-{allowed}'\">",
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1><p>{escape(summary(results))}</p>",
            *(part for result in results for part in _result(result, criteria.get(result.criterion))),
            *(part for name in documents for part in _document(documents[name], quoted)),
            "</body></html>\n",
        )
    )


def _result(result: CriterionResult, criterion: Criterion | None) -> Iterator[str]:
    yield f'<article id="{_id("result", result.case, result.criterion)}"><h2>'
    yield f'<span class="status {result.status}">{result.status.replace("_", " ")}</span> '
    yield f"{escape(result.criterion)} <span class=soft>{result.confidence:.2f}</span></h2>"
    if criterion:
        yield f"<p>{escape(criterion.text)}</p>"
    yield f"<p>{escape(result.rationale)}</p>"
    for citation in result.citations:
        page = f", page {citation.page}" if citation.page else ""
        where = f"{citation.document}, {' › '.join(citation.path)}{page}"
        yield f'<blockquote>{escape(citation.quote)}<br><a class="soft" href="#{_place(citation)}">{escape(where)}</a>'
        yield "</blockquote>"
    if result.evidence:
        yield "<table>"
        for one in result.evidence:
            yield f"<tr><th scope=row>{escape(one.field)}</th><td>{escape(str(one.value))}</td></tr>"
        yield "</table>"
    said = [f"controller {result.controller}", result.prompt_id, str(result.reason_code or "")]
    yield f'<p class="soft">{escape(" · ".join(part for part in said if part))}</p></article>'


def _document(document: KnowledgeDocument, quoted: Sequence[Citation]) -> Iterator[str]:
    yield f"<h2>{escape(document.title)}</h2><p class=soft>{escape(document.id)}</p><pre>"
    at = 0
    for start, end, places in _merge_citations([one for one in quoted if one.document == document.id]):
        yield escape(document.text[at:start])
        yield "".join(f'<span id="{place}"></span>' for place in places)
        yield f"<mark>{escape(document.text[start:end])}</mark>"
        at = end
    yield f"{escape(document.text[at:])}</pre>"


def _merge_citations(citations: Sequence[Citation]) -> list[tuple[int, int, list[str]]]:
    """Quotes that overlap are marked as one, with the places of all of them."""
    merged: list[tuple[int, int, list[str]]] = []
    for citation in sorted(citations, key=lambda one: (one.start, one.end)):
        place = _place(citation)
        if merged and citation.start <= merged[-1][1]:
            start, end, places = merged[-1]
            merged[-1] = (start, max(end, citation.end), places if place in places else [*places, place])
        else:
            merged.append((citation.start, citation.end, [place]))
    return merged


def _place(citation: Citation) -> str:
    return _id("quote", citation.document, str(citation.start), str(citation.end))


def _id(*parts: str) -> str:
    return f"x{hashlib.sha256(chr(0).join(parts).encode('utf-8', 'replace')).hexdigest()[:16]}"
