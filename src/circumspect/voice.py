"""Voice: a reply said aloud while it is still being written -> pieces for the user, whole sentences at a time.

Nothing is said that could have to be taken back: assessment blocks are left out, a sentence that claims a deed is not
said before the claim was checked, and whatever the turn then ends with is said after it. So what was heard is always
the beginning of what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from circumspect.language.sentences import find_ends
from circumspect.policy.grounding.statements import states_deed
from circumspect.policy.parsing.plain_words import read_plain_words
from circumspect.policy.parsing.reply_data import begins_as_data
from circumspect.values import Reply


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


class Voice:
    def __init__(
        self, say: Callable[[str], None], find_odd: Callable[[str], object] | None = None, *, data_whole: bool = False
    ) -> None:
        """`find_odd` finds names that are put in words before anybody reads them. With `data_whole` a reply that may be
        data is said when it ends: a second draft could not be put behind half of it."""
        self._data_whole = data_whole
        self._say = say
        self._find_odd = find_odd
        self._before = ""
        """What earlier drafts of this turn said."""
        self._spoken = ""
        self._held = ""

    def say_first(self, words: str) -> None:
        """Said before any draft: how the request was understood."""
        self._before = words
        self._say(words)

    def begin(self) -> Callable[[str], None]:
        """A new draft begins; hand its pieces to what comes back."""
        from circumspect.policy.parsing.visible import Visible

        self._before, self._spoken, self._held = self._whole(""), "", ""
        visible, silent = Visible(), False

        def hear(piece: str) -> None:
            nonlocal silent
            self._held += visible.feed(piece)
            # The blank after a sentence is said with the next one: a reply does not end in blanks.
            while not silent and (end := next(find_ends(self._held, start=_blanks(self._held)), None)):
                sentence, self._held = self._held[: end[0]], self._held[end[0] :]
                silent = states_deed(sentence) or bool(visible.blocks) or not self._is_plain(sentence)
                silent = silent or (self._data_whole and not self._spoken and begins_as_data(sentence))
                if not silent:
                    self._speak(sentence)

        return hear

    def _is_plain(self, sentence: str) -> bool:
        return read_plain_words(sentence) == sentence and not (self._find_odd and self._find_odd(sentence))

    def _speak(self, sentence: str) -> None:
        if not self._spoken:
            sentence = sentence.lstrip()
            if self._before and sentence:
                self._say("\n\n")
        if sentence:
            self._spoken += sentence
            self._say(sentence)

    def end_with(self, reply: Reply) -> Reply:
        """The reply with what was already said in front. A yes is bound to the words as they were shown."""
        text = self._whole(reply.text)
        intent = replace(reply.intent, question=text) if reply.intent else None
        return replace(reply, text=text, intent=intent)

    def _whole(self, text: str) -> str:
        said = self._spoken
        if not said or text.startswith(said):
            now = text
        else:
            now = f"{said}\n\n{text}" if text else said
        return "\n\n".join(part for part in (self._before, now) if part)
