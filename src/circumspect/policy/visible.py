"""What of a model's reply the user may see, decided while it streams: pieces of text -> text without assessments.

In: the reply, in pieces of any size. Out: the same words however the pieces were cut, with every assessment block left
out, and the blocks themselves. A block is a tag, however badly written, or an object with an assessment's keys.

The one choice that may surprise: words after a block are shown only when the block could be read exactly. Otherwise
nobody can tell where it ends, and everything after its beginning stays hidden.
"""

from __future__ import annotations

import re
from typing import Literal

from circumspect.policy.loose_json import INVISIBLE, exact

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

_I = f"[{INVISIBLE}]{{0,3}}"
_LT = r"(?:[<＜﹤‹〈〈⟨❮《]|&(?:amp;){0,2}(?:lt|#0{0,4}60|#x0{0,4}3c);?|\\u003c|%3c)"
_GT = r"(?:[>＞﹥›〉〉⟩❯》]|&(?:amp;){0,2}(?:gt|#0{0,4}62|#x0{0,4}3e);?|\\u003e|%3e)"
_S, _E = "[sｓѕ]", "[eｅе]"
# Either half of the name will do: one wrong letter leaves the other half whole.
_HALF = _I.join(("[aａа]", _S, _S, _E, _S)) + "|" + _I.join((_S, "[mｍ]", _E, "[nｎ]", "[tｔ]"))
_SLASH = r"[/\\／]"
_JUNK = rf"[\s{INVISIBLE}!?|*.:`'\"=(/\\／-]{{0,24}}"
_NAME = rf"[\w&#;-]{{0,20}}?(?:{_HALF})"
_TAG = rf"(?:{_LT}{_JUNK}{_NAME}|\[{_SLASH}?assessment\](?!\())"
_CLOSING = rf"(?:{_LT}(?={_JUNK}{_SLASH}){_JUNK}{_NAME}|\[{_SLASH}assessment\])"
_TAIL_OF_TAG = rf"{_SLASH}?(?<!\w)assessment{_I}{_GT}"
_QUOTE = r"[\"'“”‘’«»\\]{0,3}"
_KEY = rf"{_QUOTE}(?<!\w)(?:{'|'.join(key for key in KEYS if '_' in key)})(?!\w){_QUOTE}\s{{0,20}}[:：=]"
_SURE = rf"[\"'“‘\\]{{1,3}}confidence{_QUOTE}\s{{0,20}}[:：=]"
_BRACE = "[{｛]"
_OBJECT_LIKE = rf"{_BRACE}(?=[\s{INVISIBLE}]{{0,40}}(?:[\"'“‘\\\w}}]|//|/\*|\Z))"
_LABEL = (
    r"(?:[#*_>\[(-][#*_>\[( \t-]{0,11})?(?<!\w)(?:self[ _-]?)?assessment[\])*_ \t]{0,6}[:：]?[\])*_ \t]{0,6}"
    rf"(?=[\s{INVISIBLE}]{{0,40}}(?:```|~~~|{_BRACE}))"
)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_TOKEN = _compiled(
    rf"(?P<tag>{_TAG}|{_TAIL_OF_TAG})|(?P<object>{_OBJECT_LIKE})|(?P<key>{_KEY}|{_SURE})"
    rf"|(?P<fence>```[\w-]{{0,20}}|~~~[\w-]{{0,20}})|(?P<like>{_LT}[^<>{{}}\n]{{1,60}}?{_GT})|(?P<label>{_LABEL})"
)
_ANY_TAG = _compiled(_TAG)
_LEADING_TAG = _compiled(rf"[\s{INVISIBLE}]*{_TAG}")
_CLOSE = _compiled(_CLOSING)
_IS_CLOSING = _compiled(rf"{_CLOSING}|{_SLASH}assessment")
_END_OF_TAG = _compiled(rf"[^<>{{}}\n]{{0,80}}?\s{{0,8}}{_GT}|\w{{0,20}}")
_SIGN = _compiled(rf"{_TAG}|{_KEY}|{_SURE}")
_KEY_INSIDE = _compiled(rf"{_KEY}|{_SURE}|(?<![\w ])[ \t]{{0,20}}confidence\s{{0,20}}[:：=]")
_CLOSED_BY_TAG = _compiled(rf"[\s{INVISIBLE}`~]{{0,40}}{_CLOSING}")
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{｛}｝]', re.DOTALL)
_CUT_KEY = "|".join(key[:letters] for key in KEYS for letters in range(1, len(key) + 1))
_CUT_OBJECT = _compiled(rf"{_BRACE}[\s{INVISIBLE}]{{0,40}}(?:[\"'“‘\\/]|(?:{_CUT_KEY})?\s{{0,20}}\Z)")
_CUT_TAG = _compiled(rf"(?:{_LT}{_JUNK}(?:a{_I}(?:s{_I}){{0,2}}e?)?|&(?:amp;){{0,2}}l?t?;?)\Z")
# Where a token may have begun that cannot be told yet.
_BEGUN = _compiled(
    rf"{_LT}|{_BRACE}|```|~~~|{_QUOTE}(?:{'|'.join(KEYS)})|[#*_>\[( \t-]{{0,12}}(?:self[ _-]?)?{_SLASH}?assessment"
)
_RISKY = _compiled(r"\w{0,24}_|(?<!\w)self\b|[\"'“”‘’«»\\&%<>＜﹤‹〈〈⟨❮《`~#*\[(/／-]|\w+\Z")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with control characters and lone surrogates replaced, so that it can be stored and shown."""
    return text if text.isprintable() else _CONTROL.sub("\ufffd", text)


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
        self._fence_due = self._tag_due = False
        """The closing half of a wrapper that was left out is still to come."""
        self._taken = False
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
            self.blocks.append(self._hidden())
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
        if exact(bare(content)) is None:
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
                self._fence_due = self._tag_due = False
                mark = self._show(text, mark, start, wrappers)
            elif not wrappers:
                mark = self._show(text, mark, start, wrappers)
            kind, at = token.lastgroup, token.end()
            if kind == "object":
                after = self._object(text, start, final=final)
                if after is None:
                    self._text = text[start if self._state == "gone" else mark - 1 :]
                    return False
                if self._taken:
                    self._fence_due, self._tag_due = "fence" in wrappers, "like" in wrappers
                    wrappers.clear()
                    mark = at = after
                else:
                    mark = at = self._show(text, mark, after, wrappers)
            elif kind == "key":
                self._state, self._text, self._body = "gone", text[start:], 0
                return False
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
            elif (kind == "fence" and self._fence_due) or (kind == "like" and self._tag_due and "/" in token[0]):
                mark = at
                self._fence_due, self._tag_due = self._fence_due and kind != "fence", self._tag_due and kind != "like"
            else:
                in_code = self._code != (wrappers.count("fence") % 2 == 1)
                wrappers.append(str(kind))
                is_closing = in_code if kind == "fence" else "/" in token[0]
                if is_closing or at - mark > _WRAPPERS:
                    mark = self._show(text, mark, at, wrappers)

    def _leave(self, text: str, at: int, mark: int, start: int, wrappers: list[str], *, final: bool) -> None:
        """Show what is certain of the text from `mark` on, and keep the rest for the next piece."""
        if final:
            cut = _CUT_TAG.search(text, max(at, len(text) - _LOOK))
            stop = cut.start() if cut else len(text)
            if text[at:stop].strip() or not wrappers or wrappers[-1] != "fence":
                self._show(text, mark, stop, wrappers)
            return
        begun = _BEGUN.search(text, max(at, len(text) - _LOOK))
        risky = _RISKY.search(text, max(at, len(text) - _DELAY))
        stop = min(start, begun.start() if begun else start, risky.start() if risky else start)
        if text[at:stop].strip() or not wrappers:
            if text[at:stop].strip():
                self._fence_due = self._tag_due = False
            mark = self._show(text, mark, stop, wrappers)
        self._text = text[mark - 1 :]

    def _object(self, text: str, start: int, *, final: bool) -> int | None:
        """Where to go on after the brace at `start`, None for nowhere yet. `_taken` when it was one of ours.

        Whichever comes first decides what a brace began: a key of ours, its closing brace, a tag, or none of them.
        """
        self._taken = False
        last = start + _OBJECT
        known = len(text) if final else len(text) - _LOOK
        tag = _ANY_TAG.search(text, max(start, self._tagless), last)
        reach = tag.start() if tag else last
        self._tagless = max(self._tagless, reach if tag else last - _LOOK)
        end = _end_of_object(text, start, reach)
        key = _KEY_INSIDE.search(text, start, end or reach)
        first = key.start() if key else end or reach
        if first >= known and not (final and first == last):
            self._wait = len(text) + len(text) // 8
            return None
        if first == last:
            if final and len(text) < last and _CUT_OBJECT.match(text, start):
                self._state, self._body = "gone", 0
                return None
            return max(start + 1, min(last, len(text)) - _LOOK)
        if key is None and end is None:
            return start + 1 if text.count("{", start, reach) <= _NESTED else reach
        if first == end and not _CLOSED_BY_TAG.match(text, end):
            return end
        end = end or _end_of_object(text, start, len(text))
        if end is None and not final:
            self._wait = len(text) + len(text) // 8
            return None
        if end and exact(text[start:end]) is not None:
            self.blocks.append(text[start:end])
            self._taken = self._removed = True
            return end
        self._state, self._body = "gone", 0
        return None

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
            self._out.append("\n\n" if self._removed else self._gap + piece[: len(piece) - len(piece.lstrip())])
        self._out.append(printable(words))
        self._gap = piece[len(piece.rstrip()) :]
        self._shown, self._removed = True, False
        return stop

    def _hidden(self) -> str:
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
    for found in _STRING_OR_BRACE.finditer(text, start, last):
        depth += (found[0] in "{｛") - (found[0] in "}｝")
        if depth == 0 and found[0] in "}｝":
            return found.end()
    return None
