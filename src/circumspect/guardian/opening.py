"""open_guardian: a name from the configuration -> a guardian.

`rules`, `llama-guard:MODEL@URL`, `moderation:MODEL` (OpenAI's own service) or `moderation:MODEL@URL`. Several, with `+`
between them, are asked together. Servers of your own need no key; OpenAI's is read from OPENAI_API_KEY.
"""

from __future__ import annotations

import os

from circumspect.errors import ConfigError
from circumspect.guardian.llama_guard import LlamaGuard
from circumspect.guardian.moderation import Moderation
from circumspect.guardian.port import CATEGORIES, Guardian, HarmCategory
from circumspect.guardian.remote import Remote
from circumspect.guardian.rule_guardian import RuleGuardian
from circumspect.guardian.together import Together

_OPENAI = "https://api.openai.com/v1"
_FORMS = "Use rules, llama-guard:MODEL@URL, moderation:MODEL or moderation:MODEL@URL, or several joined by ' + '."


def open_guardian(
    name: str, *, api_key: str | None = None, timeout: float = 8.0, ignore: frozenset[HarmCategory] = frozenset()
) -> Guardian:
    """Raises `ConfigError` for a name that is none, a category that is none, or a key that is missing."""
    if strange := sorted(ignore - set(CATEGORIES)):
        raise ConfigError(f"There is no category '{strange[0]}'.", fix=f"Use {', '.join(CATEGORIES)}.")
    guardians = tuple(_one(part.strip(), api_key, timeout, ignore) for part in name.split(" + "))
    return guardians[0] if len(guardians) == 1 else Together(guardians)


def _one(name: str, api_key: str | None, timeout: float, ignore: frozenset[HarmCategory]) -> Guardian:
    if name == "rules":
        return RuleGuardian(ignore)
    kind, _, rest = name.partition(":")
    model, _, url = rest.partition("@")
    if not model or kind not in ("llama-guard", "moderation") or (kind == "llama-guard" and not url):
        raise ConfigError(f"There is no guardian '{name}'.", fix=_FORMS)
    key = api_key
    if not url:
        url, key = _OPENAI, api_key or os.environ.get("OPENAI_API_KEY")
        if not key:
            raise ConfigError(f"No API key for {name}.", fix="Set OPENAI_API_KEY, or use the guardian 'rules'.")
    remote = Remote(url, model, key, timeout=timeout, try_timeout=min(5.0, timeout), ignore=ignore)
    return LlamaGuard(remote) if kind == "llama-guard" else Moderation(remote)
