"""The files of pages. One that lies beside its packed self (`name.gz`) is sent packed to browsers that take it so."""

from __future__ import annotations

import mimetypes
from os import PathLike, stat_result

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope


class PackedFiles(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and not path.endswith(".gz"):
            found: tuple[str | PathLike[str], stat_result | None]
            found = await anyio.to_thread.run_sync(self.lookup_path, f"{path}.gz")
            if found[1] is not None:
                answer = await super().get_response(f"{path}.gz", scope)
                answer.headers["Content-Type"] = mimetypes.guess_type(path)[0] or "application/octet-stream"
                if answer.status_code == 200:
                    answer.headers["Content-Encoding"] = "gzip"
                answer.headers.add_vary_header("Accept-Encoding")
                return answer
        return await super().get_response(path, scope)
