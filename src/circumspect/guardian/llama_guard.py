"""LlamaGuard: a safety model behind an OpenAI-compatible chat endpoint.

The model's own chat template carries the taxonomy; we send the message and read `safe`, or `unsafe` and a line of
codes. Anything else is no answer: a chatty model behind the address must not count as a guardian that found nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from circumspect.guardian.port import HarmCategory, Screening, screening
from circumspect.guardian.remote import GuardianAnswer, Remote, ask, count, make_garbled_error
from circumspect.values import Json, Language, ModelUsage

TAXONOMY: Mapping[str, HarmCategory] = {
    "S1": "violence",
    "S2": "crime",
    "S3": "sex_crime",
    "S4": "child_abuse",
    "S5": "defamation",
    "S6": "advice",
    "S7": "privacy",
    "S8": "weapons",
    "S9": "copyright",
    "S10": "hate",
    "S11": "self_harm",
    "S12": "sexual",
    "S13": "elections",
    "S14": "code_abuse",
}
"""The hazards of Llama Guard 3 and 4 in our words. A code that is not here becomes `other`."""

_CODES = re.compile(r"[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*,?")


@dataclass(frozen=True, slots=True)
class LlamaGuard:
    remote: Remote
    taxonomy: Mapping[str, HarmCategory] = field(default_factory=lambda: TAXONOMY)

    async def screen(self, text: str, language: Language) -> Screening:
        body: dict[str, Json] = {
            "model": self.remote.model,
            "messages": [{"role": "user", "content": text}],
            "temperature": 0,
            "max_tokens": 32,
            "stream": False,
        }
        answer = await ask(self.remote, "/chat/completions", body)
        codes = self._codes(_words(self.remote, answer))
        categories = tuple(self.taxonomy.get(code, "other") for code in codes or ())
        return screening(
            categories,
            source=f"llama-guard:{self.remote.model}",
            ignore=self.remote.ignore,
            scores=dict.fromkeys(categories, 1.0),
            usage=_usage(self.remote, answer),
        )

    def _codes(self, said: str) -> tuple[str, ...]:
        """The codes of an unsafe message, none for a safe one. Unsafe without a code is still unsafe."""
        verdict, _, rest = said.strip().partition("\n")
        codes = rest.strip().upper()
        match verdict.strip().lower():
            case "safe" if not codes:
                return ()
            case "unsafe" if not codes:
                return ("?",)
            case "unsafe" if _CODES.fullmatch(codes):
                return tuple(code.strip() for code in codes.split(",") if code.strip())
        raise make_garbled_error(self.remote, "neither safe nor unsafe")


def _words(remote: Remote, answer: GuardianAnswer) -> str:
    try:
        said = answer.body["choices"][0]["message"]["content"]
    except (LookupError, TypeError):
        raise make_garbled_error(remote, "no choice") from None
    if not isinstance(said, str):
        raise make_garbled_error(remote, "no text")
    return said


def _usage(remote: Remote, answer: GuardianAnswer) -> ModelUsage:
    usage = answer.body.get("usage")
    spent = usage if isinstance(usage, dict) else {}
    return ModelUsage(
        model=remote.model,
        input_tokens=count(spent.get("prompt_tokens")),
        output_tokens=count(spent.get("completion_tokens")),
        seconds=answer.seconds,
        attempts=answer.attempts,
        estimated=not spent,
    )
