"""The other ends of the operators' log: a syslog receiver on real sockets, well or ill."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from typing import Any, Literal, Self

from tests.patience import PATIENCE

Behaviour = Literal["well", "dies", "stalls", "ends without goodbye"]


class Syslog:
    """Reads frames with their length until the sender's end, then closes. `dies`: goes away with words unread, as a
    killed process does; `stalls`: reads nothing and keeps the connection."""

    def __init__(self, behaviour: Behaviour = "well", context: ssl.SSLContext | None = None) -> None:
        self.behaviour, self.context = behaviour, context
        self.messages: list[bytes] = []
        self.connections = 0
        self._stalled: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(PATIENCE)
        for one in self._stalled:
            one.close()

    @property
    def url(self) -> str:
        scheme = "tls" if self.context else "tcp"
        return f"{scheme}://localhost:{self._listening.getsockname()[1]}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(message.partition("\ufeff".encode())[2]) for message in self.messages]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            try:
                self._hear(connection)
            except (OSError, ValueError):
                connection.close()

    def _hear(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        if self.context is not None:
            connection = self.context.wrap_socket(connection, server_side=True)
        match self.behaviour:
            case "stalls":
                self._stalled.append(connection)
                return
            case "dies":
                connection.recv(20)
                connection.close()
                return
        heard = b""
        while more := connection.recv(65536):
            heard += more
        while heard:
            length, _, rest = heard.partition(b" ")
            self.messages.append(rest[: int(length)])
            heard = rest[int(length) :]
        if isinstance(connection, ssl.SSLSocket) and self.behaviour == "well":
            connection = connection.unwrap()
        connection.close()
