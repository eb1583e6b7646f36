"""What a caller gives a gate beside the call: checked at the door, so that nobody's mistake is found out later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from circumspect.errors import ConfigError
from circumspect.gating.ruling import Ruling
from circumspect.tools.tool_errors import brief
from circumspect.values import LANGUAGES, REHEARSED, ConversationId


def check_conversation(conversation: Any) -> ConversationId:
    if not isinstance(conversation, str) or not conversation:
        raise ConfigError("The id of a conversation is a text.", fix="Give it as conversation='…'.")
    if conversation.startswith(REHEARSED):
        raise ConfigError(
            f"Ids that begin with '{REHEARSED}' are those of the console's playground, where no call counts.",
            fix="Give the conversation another id.",
        )
    return ConversationId(conversation)


def check_person(person: Any) -> str | None:
    """Nobody is None; an empty id is nobody's."""
    if not isinstance(person, str | None):
        raise ConfigError("The id of a person is a text.", fix="Give your own id of the user as person='…'.")
    return person or None


def check_messages(messages: Any) -> None:
    if messages is not None and (not isinstance(messages, Sequence) or isinstance(messages, str | bytes)):
        raise ConfigError("`messages` is a list.", fix="Give the conversation so far, one dict a message.")


def check_about(account: Any, claims: Any, language: Any) -> None:
    """What is said of the person, and the language that they are spoken to in."""
    if not isinstance(account, str):
        raise ConfigError("An account is a text.", fix="Give your own id of it as account='…'.")
    if not isinstance(claims, Mapping | None):
        raise ConfigError("`claims` is a dict.", fix="Give what a token says of the person, by name.")
    if language is not None and language not in LANGUAGES:
        raise ConfigError(f"There is no language {language!r}.", fix=f"Use one of {', '.join(LANGUAGES)}.")


def check_ruling(ruling: Any) -> Ruling:
    if not isinstance(ruling, Ruling):
        raise ConfigError(
            f"A {type(ruling).__name__} is no ruling.", fix="Give what `rule`, `answer` or `find` returned."
        )
    return ruling


def describe_outcome(result: Any, error: Any, not_run: bool) -> str:
    """Why it failed where somebody else ran it, in words or as the exception that was caught; empty where it did not.
    An error without words is one, unless there is a result: `str(TimeoutError())` is empty."""
    if not (error is None or isinstance(error, str | BaseException)):
        raise ConfigError("`error` is a text or an exception.", fix="Say why the call failed, or leave it out.")
    failed = error is not None and (error != "" or result is None)
    if (result is not None) + failed + not_run > 1:
        raise ConfigError(
            "A call has one outcome.", fix="Give its result, or why it failed, or say that it was not run."
        )
    if not_run:
        return "It was not run."
    if not failed:
        return ""
    return (brief(error) if isinstance(error, BaseException) else error) or "It failed, and nothing says why."
