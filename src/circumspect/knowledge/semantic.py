"""Search by meaning, for those who have an embeddings endpoint: texts -> vectors, over the OpenAI format.

    library = Library(store, embedder=open_embedder("openai:text-embedding-3-small"))

Optional, and off unless it is asked for. No weights are bundled: what fits into a package is good in English only
(docs/knowledge.md). Vectors become scores only above chance (docs/decisions/0015-words-and-meaning-on-one-scale.md).
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from circumspect.errors import ConfigError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models.spec import parse

AT_ONCE = 64
PATIENCE = 10.0
"""Seconds for one text. A user may be waiting for the answer, and words find something too."""
_UNHURRIED = 6
"""Times that, for texts in a batch: nobody waits for them, and a small machine needs it."""
_ALL_THE_SAME = 0.999
_OPENAI = "https://api.openai.com/v1"


class Embedder(Protocol):
    """`name` says which vectors belong together: those of another name are never compared. Raises `ModelError`."""

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, in order, all of the same length."""
        ...


def open_embedder(name: str) -> Embedder:
    """By a name as models have it: `openai:text-embedding-3-small`, or `openai:NAME@URL` for whatever speaks that
    format, with `;key=VARIABLE` and `;timeout=SECONDS`. Raises `ConfigError`."""
    spec = parse(name)
    if spec.provider != "openai":
        raise ConfigError(
            f"There are no embeddings of {spec.provider!r}.",
            fix="Write openai:text-embedding-3-small, or openai:NAME@URL for a server that speaks OpenAI's format.",
        )
    variable = spec.key_variable or (None if spec.base_url else "OPENAI_API_KEY")
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        raise ConfigError(f"No API key for the embeddings of {spec.name}.", fix=f"Set {variable}.")
    url = spec.base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    return Endpoint(url, spec.model, key, timeout=spec.timeout or PATIENCE)


class Endpoint:
    """`POST {url}/embeddings`, as OpenAI, vLLM, llama.cpp, Ollama and others speak it."""

    def __init__(self, url: str, model: str, key: str | None = None, *, timeout: float = PATIENCE) -> None:
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout = timeout

    @property
    def name(self) -> str:
        return self._model

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        try:
            import httpx2
        except ModuleNotFoundError as error:
            raise ConfigError("Search by meaning needs httpx2.", fix="pip install 'circumspect[semantic]'") from error
        found: list[Sequence[float]] = []
        try:
            patience = self._timeout if len(texts) == 1 else self._timeout * _UNHURRIED
            async with httpx2.AsyncClient(timeout=patience, headers=self._headers) as client:
                for start in range(0, len(texts), AT_ONCE):
                    some = list(texts[start : start + AT_ONCE])
                    body = {"model": self._model, "input": some, "encoding_format": "float"}
                    answer = await client.post(self._url, json=body)
                    found.extend(_vectors(answer.status_code, answer.content, len(some)))
        except httpx2.HTTPError as error:
            raise ModelUnavailable(
                f"The embeddings endpoint did not answer: {type(error).__name__}.",
                fix="Check its address; give a slow one more time with ;timeout=SECONDS.",
            ) from error
        return found


def _vectors(status: int, content: bytes, expected: int) -> list[Sequence[float]]:
    if status == 429 or status >= 500:
        raise ModelUnavailable(f"The embeddings endpoint answered with status {status}.", fix="Try again.")
    if status >= 400:
        raise ModelRefused(
            f"The embeddings endpoint refused with status {status}.", fix="Check the key and the model's name."
        )
    import orjson

    try:
        rows: Any = sorted(orjson.loads(content)["data"], key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelGarbled("The embeddings endpoint's answer cannot be read.") from error
    if len(vectors) != expected or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
        raise ModelGarbled("The embeddings endpoint did not give one vector for each text.")
    return list(vectors)


def pack_vector(vector: Sequence[float]) -> bytes:
    """Of length one, as 32-bit floats: comparing is then a sum of products."""
    size = math.sqrt(sum(number * number for number in vector)) or 1.0
    return array("f", [number / size for number in vector]).tobytes()


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    (found,) = _cosines(pack_vector(one), [pack_vector(other)])
    return found


def nearest(query: Sequence[float], stored: Sequence[tuple[int, str, bytes]], limit: int) -> list[tuple[int, float]]:
    """Ids of passages and how much nearer they are to the query than passages of their language are to each other, from
    0 to 1, the nearest first. What is no nearer is left out, and so is a vector of another length.

    What a cosine is worth differs from model to model and language to language: 0.6 is much in English, and less than
    chance in Hebrew for a model that has never seen Hebrew."""
    wanted = pack_vector(query)
    languages: dict[str, list[tuple[int, bytes]]] = {}
    for id_, language, vector in stored:
        if len(vector) == len(wanted):
            languages.setdefault(language, []).append((id_, vector))
    ranked: list[tuple[int, float]] = []
    for alike in languages.values():
        vectors = [vector for _, vector in alike]
        chance = _chance(vectors)
        if chance < _ALL_THE_SAME:
            cosines = zip((id_ for id_, _ in alike), _cosines(wanted, vectors), strict=True)
            ranked += [(id_, (cosine - chance) / (1 - chance)) for id_, cosine in cosines if cosine > chance]
    return sorted(ranked, key=lambda pair: (-pair[1], pair[0]))[:limit]


def _chance(vectors: Sequence[bytes]) -> float:
    """The mean cosine of all pairs, which is the squared length of the mean. Each vector is paired with itself too, so
    that of a few passages little is believed, and of a single one nothing."""
    try:
        np: Any = import_module("numpy")
    except ModuleNotFoundError:
        sums = [sum(column) for column in zip(*(array("f", vector) for vector in vectors), strict=True)]
        return float(sum(number * number for number in sums)) / (len(vectors) * len(vectors))
    mean = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(len(vectors), -1).mean(axis=0)
    return float(mean @ mean)


def _cosines(wanted: bytes, stored: Sequence[bytes]) -> list[float]:
    try:
        np: Any = import_module("numpy")
    except ModuleNotFoundError:
        query = array("f", wanted)
        return [sum(map(float.__mul__, query, array("f", vector))) for vector in stored]
    matrix = np.frombuffer(b"".join(stored), dtype=np.float32).reshape(len(stored), -1)
    return [float(number) for number in matrix @ np.frombuffer(wanted, dtype=np.float32)]
