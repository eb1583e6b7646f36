"""The offline model: rules that stand in for a language model where none is configured.

    read (lexicon) ─▶ see the request (seen) ─▶ follow the conversation (conversation, choose, slots, values, dates)
    ─▶ propose (draft, answer, results, naming)

Its words are data, one file a language, in `words/`.
"""

from circumspect.demo.offline.model import OfflineModel

__all__ = ["OfflineModel"]
