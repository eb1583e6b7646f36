"""A school's own documents: put them in, ask in three languages, and see where two of them contradict each other.

Needs no model and no key: search is by words and pieces of words, conflicts are found by code.
"""

import asyncio
from pathlib import Path

import circumspect.demo.samples
from circumspect.knowledge.conflicts import conflicts_among, find_conflicts
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.search import Library
from circumspect.stores import SqlStore

DOCUMENTS = Path(circumspect.demo.samples.__file__).parent / "documents"
QUESTIONS = {
    "en": "I changed my mind about the group, can I have my money back?",
    "ru": "Я передумала ходить в группу, вернёте деньги?",
    "he": "התחרטתי על הקבוצה, אקבל את הכסף בחזרה?",
}


async def main() -> None:
    store = await SqlStore.open(":memory:")
    library = Library(store)
    for language, question in QUESTIONS.items():
        documents = [
            read_document(path.read_bytes(), path.name) for path in sorted((DOCUMENTS / language).glob("*.md"))
        ]
        for document in documents:
            await library.put(language, document)
        found = await library.search(language, question)
        print(f"{question}")
        for passage in found[:2]:
            print(f"  {passage.score:.2f}  {passage.document} § {' › '.join(passage.path)}")
        # Among the passages that would be answered from, and among all documents: the same contradiction.
        for conflict in find_conflicts(found) or conflicts_among(documents):
            for side in (conflict.left, conflict.right):
                print(f"  {side.document} says {side.value}: “{side.quote}”")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
