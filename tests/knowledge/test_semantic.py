"""The embeddings endpoint, over HTTP as OpenAI speaks it, and what happens when it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.knowledge.embeddings import Answers, embeddings

from circumspect.errors import ConfigError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.knowledge import semantic
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.search import Library
from circumspect.knowledge.semantic import AT_ONCE, Endpoint, cosine, nearest, open_embedder, pack_vector
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


async def test_a_user_waits_for_one_text_no_longer_than_the_name_says_but_documents_may_take_their_time(url):
    slow = open_embedder(f"openai:slow@{url};timeout=1")
    with pytest.raises(ModelUnavailable, match="timeout=SECONDS"):
        await slow.embed(["a"])
    assert len(await slow.embed(["a", "b"])) == 2


def test_the_nearest_come_first_and_other_lengths_do_not_count():
    stored = [
        (1, "en", pack_vector([1, 0])),
        (2, "en", pack_vector([1, 1])),
        (3, "en", pack_vector([0, 1])),
        (4, "en", pack_vector([1, 0, 0])),
        (5, "en", pack_vector([0, 0])),
    ]
    found = nearest([2.0, 0.1], stored, 3)
    assert [id_ for id_, _ in found] == [1, 2], "the third is farther away than they are from each other"
    assert found[0][1] == pytest.approx(0.998, abs=2e-3)
    assert nearest([1.0], stored, 3) == []


def test_being_near_is_being_nearer_than_passages_are_to_each_other():
    def text(topic: int, unread: float) -> list[float]:
        """Its topic is one of twenty directions; the last one says that the letters are foreign."""
        return [*(float(at == topic) for at in range(20)), unread]

    english = [(n, "en", pack_vector(text(n, 0.5))) for n in range(20)]
    hebrew = [(100 + n, "he", pack_vector(text(n, 3.0))) for n in range(20)]
    found = dict(nearest(text(7, 0.5), [*english, *hebrew], 30))
    assert found == {7: pytest.approx(1)}
    unheard_of = text(99, 3.0)
    assert cosine(unheard_of, text(7, 3.0)) > 0.9
    assert all(score < 0.5 for _, score in nearest(unheard_of, hebrew, 30)), "as near to one as to any other"
    assert cosine(text(7, 1.5), text(7, 0.5)) < 0.9
    assert nearest(text(7, 1.5), english, 1) == [(7, pytest.approx(0.8, abs=0.1))]


def test_of_a_single_passage_nothing_is_believed_and_of_two_little():
    assert nearest([1.0, 0.0], [(1, "en", pack_vector([1.0, 0.0]))], 5) == []
    assert nearest([1.0, 0.0], [(1, "en", pack_vector([1.0, 1.0])), (2, "en", pack_vector([0.0, 1.0]))], 5) == []


def test_the_same_is_found_without_numpy(monkeypatch):
    stored = [(n, "en", pack_vector([float(n % 3), float(n % 5), 1.0])) for n in range(30)]
    expected = nearest([1.0, 2.0, 0.5], stored, 30)

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(semantic, "import_module", absent)
    found = nearest([1.0, 2.0, 0.5], stored, 30)
    assert dict(found) == pytest.approx(dict(expected), abs=1e-5)
    assert len(found) > 5


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
        opening = "# Opening\n\n" + "We are open from nine to five on every day of the week. " * 10
        text = f"# Returns\n\nMoney comes back.\n\n{opening}\n\n# Long\n\n" + "x" * 1_500
        for tenant in ("one", "other"):
            await Library(store).put(tenant, read_document(text.encode(), "returns.md"))
        library = Library(store, embedder=Endpoint(url, "short-sighted"))
        assert await library.catch_up() == 6
        asked = len(Answers.seen)
        assert (await library.catch_up(), len(Answers.seen)) == (0, asked)
        vectors = await store.tx(knowledge.vectors, "one", "short-sighted")
        assert sorted(bool(vector) for *_, vector in vectors) == [False, True, True], "one is too long for the endpoint"
        found = await library.search("one", "Money comes back")
        assert [(one.section, one.method) for one in found] == [("1", "both")]
        wrong = Library(store, embedder=Endpoint(url, "unknown"))
        with pytest.raises(ModelRefused):
            await wrong.catch_up()
        assert await store.tx(knowledge.vectors, "one", "unknown") == [], "it is the name that is wrong, not the texts"
        busy = Library(store, embedder=Endpoint(url, "busy"))
        with pytest.raises(ModelUnavailable):
            await busy.catch_up()
    finally:
        await store.close()
