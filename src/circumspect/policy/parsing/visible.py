"""What of a model's reply the user may see, decided while it streams: pieces of text -> text without assessments.

In: the reply, in pieces of any size. Out: the same words however the pieces were cut, with every assessment block left
out, and the blocks themselves. A block is a tag, however badly written, or an object with an assessment's keys.

The one choice that may surprise: words after a block are shown only when the block could be read exactly. Otherwise
nobody can tell where it ends, and everything after its beginning stays hidden.

The patterns take some 50 ms to build and a clean reply needs none of them: import this module where it is used.
"""

from __future__ import annotations

import re
from typing import Literal

from circumspect.forms.loose_json import parse_exact, printable
from circumspect.language.folding import HIDDEN

KEYS = (
    "confidence",
    "tool_call",
    "tool_params",
    "missing_params",
    "is_destructive",
    "needs_confirmation",
    "needs_more_context",
)

_LOOK = 240
"""No token but an object or a block is longer than this: so many characters decide what one is."""
_DELAY = 48
"""No token can hide its nature for longer than this: so many characters at the end are not shown yet."""
_OBJECT = 4_000
"""An object that shows no assessment's key within so many characters is none of ours."""
_WRAPPERS = 400
_NESTED = 8

_I = f"[{HIDDEN}]{{0,3}}"
_LT = r"(?:[<＜﹤‹〈〈⟨❮《]|&(?:amp;){0,2}(?:lt|#0{0,4}60|#x0{0,4}3c);?|\\u003c|%3c)"
_GT = r"(?:[>＞﹥›〉〉⟩❯》]|&(?:amp;){0,2}(?:gt|#0{0,4}62|#x0{0,4}3e);?|\\u003e|%3e)"
_S, _E = "[sｓ\u0455]", "[eｅ\u0435]"
# Either half of the name will do: one wrong letter leaves the other half whole.
_HALF = _I.join(("[aａ\u0430]", _S, _S, _E, _S)) + "|" + _I.join((_S, "[mｍ]", _E, "[nｎ]", "[tｔ]"))
_SLASH = r"[/\\／]"
_JUNK = rf"[\s{HIDDEN}!?|*.:;&#`'\"=({{}}/\\／-]{{0,24}}"
_NAME = rf"[\w&#;-]{{0,20}}?(?:{_HALF})"
_NAME = rf"(?:{_NAME}|tool_?calls?|function_?calls?)"
_TAG = rf"(?:{_LT}{_JUNK}{_NAME}|\[{_SLASH}?assessment\](?!\())"
_CLOSING = rf"(?:{_LT}(?={_JUNK}{_SLASH}){_JUNK}{_NAME}|\[{_SLASH}assessment\])"
_TAIL_OF_TAG = rf"{_SLASH}?(?<!\w)\w{{0,20}}?(?:{_HALF})\w{{0,10}}{_I}{_GT}"
_QUOTE = r"[\"'“”‘’«»\\]{0,3}"
_OWN = "|".join(key for key in KEYS if "_" in key)
_KEY = rf"{_QUOTE}(?<!\w)(?:{_OWN})(?!\w){_QUOTE}\s{{0,20}}[:：=]"
_SURE = rf"[\"'“‘\\]{{1,3}}confidence{_QUOTE}\s{{0,20}}[:：=]"
_LINES = (
    r"(?:(?<![#*_>\[(-])[#*_>\[(-][#*_>\[( \t-]{0,11})?(?<!\w)(?:self[ _-]?)?"
    rf"\w{{0,6}}?(?:{_HALF})[^\n{{}}｛`~<]{{0,30}}?"
    rf"(?=[\s*_:：-]{{0,20}}(?<!\w)confidence[*_ ]{{0,3}}[:：=])"
)
"""An assessment without braces: a label, and the first of its lines."""
_BRACE = "[{｛]"
_OBJECT_LIKE = rf"{_BRACE}(?=[\s{HIDDEN}]{{0,40}}(?:[\"'“‘\\\w{{}}]|//|/\*|\Z))"
_LABEL = (
    r"(?:(?<![#*_>\[(-])[#*_>\[(-][#*_>\[( \t-]{0,11})?(?<!\w)(?:self[ _-]?)?"
    rf"\w{{0,6}}?(?:{_HALF})[^\n{{}}｛`~<]{{0,30}}"
    rf"(?=[\s{HIDDEN}]{{0,40}}(?:```|~~~|{_BRACE}|(?<=[:：*_\])\s])\Z))"
)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_TOKEN = _compile(
    rf"(?P<tag>{_TAG}|{_TAIL_OF_TAG})|(?P<object>{_OBJECT_LIKE})|(?P<key>{_KEY}|{_SURE}|{_LINES})"
    rf"|(?P<fence>```[\w-]{{0,20}}|~~~[\w-]{{0,20}})|(?P<like>{_LT}[^<>{{}}\n]{{1,60}}?{_GT})|(?P<label>{_LABEL})"
)
_ANY_TAG = _compile(_TAG)
_LEADING_TAG = _compile(rf"[\s{HIDDEN}]*{_TAG}")
_CLOSE = _compile(_CLOSING)
_IS_CLOSING = _compile(rf"{_CLOSING}|(?!{_LT}){_SLASH}\w")
_END_OF_TAG = _compile(rf"[^<>{{}}\n]{{0,80}}?\s{{0,8}}{_GT}|\w{{0,20}}")
_SIGN = _compile(rf"{_TAG}|{_KEY}|{_SURE}")
_KEY_INSIDE = _compile(rf"(?<!\w)(?:{_OWN})(?!\w)|[\"'“‘\\]confidence(?!\w)|(?<!\w)confidence\s{{0,20}}[:：=]")
_CLOSED_BY_TAG = _compile(rf"[\s{HIDDEN}`~]{{0,40}}{_CLOSING}")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{｛}｝]', re.DOTALL)
_SINGLE_QUOTED = re.compile(rf"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|{_STRING_OR_BRACE.pattern}", re.DOTALL)
_BEGINS_SINGLE = re.compile(rf"{_BRACE}\s{{0,40}}'")
_BEGINS_QUOTED = re.compile(rf"{_BRACE}\s{{0,40}}[\"'“‘]")
_CUT_KEY = "|".join(key[:letters] for key in KEYS for letters in range(1, len(key) + 1))
_CUT_OBJECT = _compile(rf"{_BRACE}[\s{HIDDEN}]{{0,40}}(?:[\"'“‘\\/]|(?:{_CUT_KEY})?\s{{0,20}}\Z)")
_CUT_TAG = _compile(rf"(?:{_LT}{_JUNK}(?:a{_I}(?:s{_I}){{0,2}}e?)?|&(?:amp;){{0,2}}l?t?;?)\Z")
# Where a token may have begun that cannot be told yet.
_BEGUN = _compile(
    rf"{_LT}|{_BRACE}|```|~~~|{_QUOTE}(?:{'|'.join(KEYS)})"
    rf"|[#*_>\[( \t-]{{0,12}}(?:self[ _-]?)?{_SLASH}?\w{{0,20}}(?:{_HALF})"
)
_RISKY = _compile(r"\w{0,24}_|(?<!\w)self\b|[\"'“”‘’«»\\&%<>＜﹤‹〈〈⟨❮《`~#*\[(/／-]|\w{1,64}\Z")


def bare(block: str) -> str:
    """What a block says, without the tags, doubled or reversed, that may still cling to it."""
    at = 0
    while tag := _LEADING_TAG.match(block, at):
        at = _end_of_tag(block, tag.end())
    brace = block.rfind("}")
    tag = _ANY_TAG.search(block, max(at, brace))
    return block[at : tag.start() if tag else len(block)]


class Visible:
    """Feed it a reply; what it gives back may be shown at once. `blocks` holds what was left out."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._state: Literal["text", "block", "gone"] = "text"
        self._text = " "
        """Undecided, after one character that is decided: the patterns look one character back."""
        self._body = 0
        """Where the inside of the block begins, while in one."""
        self._wait = 0
        """The length at which looking again pays: a long wait costs no more than its length."""
        self._gap = ""
        self._shown = self._removed = False
        self._code = False
        """Inside a fence that was shown."""
        self._fence_due = False
        """The closing half of a fence that was left out is still to come."""
        self._tagless = 0
        """No tag begins before this place in the text."""
        self._out: list[str] = []

    def feed(self, piece: str) -> str:
        self._text += piece
        if self._state != "gone" and len(self._text) >= self._wait:
            self._advance(final=False)
        return self._flush()

    def finish(self) -> str:
        if self._state != "gone":
            self._advance(final=True)
        if self._state == "gone":
            self.blocks.append(self._read_hidden_block())
        self._text, self._state = " ", "text"
        return self._flush()

    def _advance(self, *, final: bool) -> None:
        self._wait = 0
        while (self._in_block if self._state == "block" else self._in_text)(final=final):
            pass

    def _in_block(self, *, final: bool) -> bool:
        text = self._text
        close = _CLOSE.search(text, self._body)
        if close is None or not (final or close.start() < len(text) - _LOOK):
            self._state = "gone" if final else "block"
            self._wait = len(text) + max(_LOOK, len(text) // 8)
            return False
        content = text[self._body : close.start()]
        if parse_exact(bare(content)) is None:
            self._state = "gone"
            return False
        self.blocks.append(content)
        self._state, self._removed = "text", True
        self._text = text[_end_of_tag(text, close.end()) - 1 :]
        return True

    def _in_text(self, *, final: bool) -> bool:
        """Go through the text token by token. True when there is more to do in another state."""
        text, at, mark = self._text, 1, 1
        wrappers: list[str] = []
        self._tagless = 0
        edge = len(text) if final else len(text) - _LOOK
        while True:
            token = _TOKEN.search(text, at)
            start = token.start() if token else len(text)
            if token is None or start >= edge:
                self._leave(text, at, mark, start, wrappers, final=final)
                return False
            if text[at:start].strip():
                self._fence_due = False
                mark = self._show(text, mark, start, wrappers)
            elif not wrappers:
                mark = self._show(text, mark, start, wrappers)
            kind, at = token.lastgroup, token.end()
            after = self._object(text, start, final=final) if kind == "object" else "ours"
            if after == "wait":
                self._text = text[mark - 1 :]
                return False
            if kind in ("object", "key") and after == "ours":
                self._state, self._text, self._body = "gone", text[start:], 0
                return False
            if isinstance(after, int):
                mark = at = self._show(text, mark, after, wrappers)
            elif kind == "tag":
                if "like" in wrappers:
                    self._show(text, mark, start, wrappers)
                self._fence_due |= "fence" in wrappers
                wrappers.clear()
                self._removed = True
                mark = at = _end_of_tag(text, at)
                if not _IS_CLOSING.match(token[0]):
                    self._state, self._text, self._body = "block", text[start:], at - start
                    return True
            elif kind == "fence" and self._fence_due:
                mark, self._fence_due = at, False
            else:
                in_code = self._code != (wrappers.count("fence") % 2 == 1)
                wrappers.append(str(kind))
                is_closing = in_code if kind == "fence" else token[0][1:2] in "/\\"
                if is_closing or at - mark > _WRAPPERS:
                    mark = self._show(text, mark, at, wrappers)

    def _leave(self, text: str, at: int, mark: int, start: int, wrappers: list[str], *, final: bool) -> None:
        """Show what is certain of the text from `mark` on, and keep the rest for the next piece."""
        if final:
            cut = _CUT_TAG.search(text, max(at, len(text) - _LOOK))
            stop = cut.start() if cut else len(text)
            if text[at:stop].strip() or not wrappers or wrappers[-1] == "like":
                self._show(text, mark, stop, wrappers)
            return
        begun = _BEGUN.search(text, max(at, len(text) - _LOOK))
        risky = _RISKY.search(text, max(at, len(text) - _DELAY))
        stop = min(start, begun.start() if begun else start, risky.start() if risky else start)
        if text[at:stop].strip() or not wrappers:
            if text[at:stop].strip():
                self._fence_due = False
            mark = self._show(text, mark, stop, wrappers)
        self._text = text[mark - 1 :]

    def _object(self, text: str, start: int, *, final: bool) -> int | Literal["ours", "wait"]:
        """What the brace at `start` begins: an assessment, or something that may be shown up to a place.

        Whichever comes first decides: a key of ours, a tag, the end of an object that makes sense, or none of them.
        """
        last = start + _OBJECT
        tag = _ANY_TAG.search(text, max(start, self._tagless), last)
        reach = tag.start() if tag else last
        self._tagless = max(self._tagless, reach if tag else last - _LOOK)
        end = closed = _end_of_object(text, start, reach)
        if end and _BEGINS_QUOTED.match(text, start) and parse_exact(text[start:end]) is None:
            end = None
        key = _KEY_INSIDE.search(text, start, end or reach)
        first = key.start() if key else end or reach
        if not final and first >= len(text) - _LOOK:
            self._wait = len(text) + len(text) // 8
            return "wait"
        if key or (end and _CLOSED_BY_TAG.match(text, end)):
            return "ours"
        if closed:
            return closed
        if tag:
            return start + 1 if text.count("{", start, reach) <= _NESTED else reach
        if final and len(text) < last and _CUT_OBJECT.match(text, start):
            return "ours"
        return max(start + 1, min(last, len(text)) - _LOOK)

    def _show(self, text: str, mark: int, stop: int, wrappers: list[str]) -> int:
        """Give out the text up to `stop`, wrappers included, and return it as the new mark."""
        self._code ^= wrappers.count("fence") % 2 == 1
        wrappers.clear()
        piece = text[mark:stop]
        words = piece.strip()
        if not words:
            self._gap += piece
            return stop
        if self._shown:
            gap = self._gap + piece[: len(piece) - len(piece.lstrip())]
            self._out.append("\n\n" if self._removed else printable(gap))
        self._out.append(printable(words))
        self._gap = piece[len(piece.rstrip()) :]
        self._shown, self._removed = True, False
        return stop

    def _read_hidden_block(self) -> str:
        """The inside of a block that could not be read exactly: up to its closing tag, if nothing else follows that."""
        content = self._text[self._body :]
        close = _CLOSE.search(content)
        if close and not _SIGN.search(content, close.end()):
            return content[: close.start()]
        return content

    def _flush(self) -> str:
        out, self._out = "".join(self._out), []
        return out


def _end_of_tag(text: str, at: int) -> int:
    end = _END_OF_TAG.match(text, at)
    return end.end() if end else at


def _end_of_object(text: str, start: int, last: int) -> int | None:
    depth = 0
    pattern = _SINGLE_QUOTED if _BEGINS_SINGLE.match(text, start) else _STRING_OR_BRACE
    for found in pattern.finditer(text, start, last):
        depth += (found[0] in "{｛") - (found[0] in "}｝")
        if depth == 0 and found[0] in "}｝":
            return found.end()
    return None
