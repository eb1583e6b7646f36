"""Documents of a tenant: what its agent may answer from."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from circumspect.server.schemas.bodies import AnswerBody
from circumspect.stores.knowledge import DocumentRow


class DocumentShown(AnswerBody):
    id: str = Field(description="The file's name.")
    title: str
    media_type: str
    language: str
    characters: int
    pages: int
    hash: str = Field(description="SHA-256 of the file.")

    @classmethod
    def of_row(cls, row: DocumentRow) -> Self:
        return cls(
            id=row.id,
            title=row.title,
            media_type=row.media_type,
            language=row.language,
            characters=row.characters,
            pages=row.pages,
            hash=row.hash,
        )
