"""Words are stemmed by many threads at once: long messages are read beside the event loop."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from circumspect.language.pack import pack
from circumspect.values import Language

WORDS = ("cancellations", "run", "reservations", "a", "international", "es", "payments", "возвращения", "заказ")


@pytest.mark.parametrize("language", ["en", "ru", "de"])
def test_threads_do_not_stem_each_others_words(language: Language) -> None:
    stem = pack(language).stem
    alone = [stem(word) for word in WORDS]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(lambda _: [stem(word) for word in WORDS], range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert all(found == alone for found in together)
