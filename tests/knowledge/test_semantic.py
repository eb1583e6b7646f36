"""The embeddings endpoint, over HTTP as OpenAI speaks it, and what happens when it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.knowledge.embeddings import Answers, embeddings

from circumspect.errors import ConfigError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.knowledge.reading import read_document
from circumspect.knowledge.search import Library
from circumspect.knowledge.semantic import AT_ONCE, Endpoint, cosine, nearest, open_embedder, packed
from circumspect.stores import SqlStore, knowledge


@pytest.fixture
def url() -> Iterator[str]:
    with embeddings() as address:
        yield address


async def test_texts_become_vectors_in_their_order_and_in_batches(url):
    texts = ["x" * n for n in range(1, AT_ONCE + 11)]
    vectors = await Endpoint(url, "small", "secret").embed(texts)
    assert [vector[0] for vector in vectors] == [len(text) for text in texts]
    assert [len(asked["input"]) for _, _, asked in Answers.seen] == [AT_ONCE, 10]
    path, key, asked = Answers.seen[0]
    assert (path, key, asked["model"]) == ("/v1/embeddings", "Bearer secret", "small")


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("busy", ModelUnavailable),
        ("broken", ModelUnavailable),
        ("unknown", ModelRefused),
        ("garbled", ModelGarbled),
        ("short", ModelGarbled),
    ],
)
async def test_what_goes_wrong_has_a_name(url, model, error):
    with pytest.raises(error):
        await Endpoint(url, model).embed(["a", "b"])


async def test_nobody_there_is_unavailable():
    with pytest.raises(ModelUnavailable):
        await Endpoint("http://127.0.0.1:1/v1", "small", timeout=2).embed(["a"])


def test_the_nearest_come_first_and_other_lengths_do_not_count():
    stored = [
        (1, packed([1, 0])),
        (2, packed([1, 1])),
        (3, packed([0, 1])),
        (4, packed([1, 0, 0])),
        (5, packed([0, 0])),
    ]
    found = nearest([2.0, 0.1], stored, 3)
    assert [id_ for id_, _ in found] == [1, 2, 3]
    assert found[0][1] == pytest.approx(0.9988, abs=1e-3)
    assert nearest([1.0], stored, 3) == []


def test_likeness_has_nothing_to_do_with_length():
    assert cosine([3.0, 0.0], [0.5, 0.0]) == pytest.approx(1)
    assert cosine([1.0, 0.0], [0.0, 2.0]) == pytest.approx(0)


async def test_a_name_as_models_have_it_opens_an_endpoint(url, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OURS", "secret")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_embedder("openai:text-embedding-3-small")
    with pytest.raises(ConfigError, match="anthropic"):
        open_embedder("anthropic:claude")
    await open_embedder(f"openai:small@{url};key=OURS").embed(["a"])
    assert [key for _, key, _ in Answers.seen] == ["Bearer secret"]


async def test_documents_that_were_there_before_are_embedded_later_and_once(url, tmp_path):
    store = await SqlStore.open(f"sqlite:///{tmp_path}/library.db")
    try:
        text = "# Returns\n\nMoney comes back.\n\n# Long\n\n" + "x" * 1_500
        for tenant in ("one", "other"):
            await Library(store).put(tenant, read_document(text.encode(), "returns.md"))
        library = Library(store, embedder=Endpoint(url, "short-sighted"))
        assert await library.catch_up() == 4
        asked = len(Answers.seen)
        assert (await library.catch_up(), len(Answers.seen)) == (0, asked)
        vectors = await store.tx(knowledge.vectors, "one", "short-sighted")
        assert sorted(bool(vector) for _, vector in vectors) == [False, True], "one is too long for the endpoint"
        found = await library.search("one", "Money comes back")
        assert [one.method for one in found] == ["both"]
        wrong = Library(store, embedder=Endpoint(url, "unknown"))
        with pytest.raises(ModelRefused):
            await wrong.catch_up()
        assert await store.tx(knowledge.vectors, "one", "unknown") == [], "it is the name that is wrong, not the texts"
        busy = Library(store, embedder=Endpoint(url, "busy"))
        with pytest.raises(ModelUnavailable):
            await busy.catch_up()
    finally:
        await store.close()
