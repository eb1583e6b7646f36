"""Rows of the operators' log as syslog messages (RFC 5424), and how they get to a receiver: UDP, TCP or TLS.

Syslog has no acknowledgement. Over TCP and TLS (frames with their length, RFC 6587 and 5425) one is made of the end of
the connection: after the last row we close our side and wait for theirs. A receiver that closes without an error has
read everything, because a system resets a connection whose data nobody read. So each batch has a connection of its
own, and **a receiver that leaves a connection open after our end of it counts as one that took nothing**. UDP promises
nothing: what the network loses is lost, and shows as a gap in the numbers.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Sequence
from contextlib import closing
from time import monotonic
from urllib.parse import urlsplit

from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import dumps, moment
from circumspect.values import Json

PORTS = {"udp": 514, "tcp": 601, "tls": 6514}
LARGEST = 8_000
"""Octets of a message: many receivers cut off what is longer. A row that is goes without its detail."""
_AUDIT = 13  # the facility "log audit"
_SEVERITY = {"done": 6, "refused": 4}  # informational, warning
_ENTERPRISE = 32473  # the number that is set aside for who has none
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


def write_message(row: LogRow, hostname: str) -> bytes:
    """One row: number, hash and result as structured data, and all of it as JSON. JSON keeps line breaks and other
    control characters escaped, so nothing in a row can look like a message of its own."""
    whole = _write(row, hostname, describe_row(row))
    return whole if len(whole) <= LARGEST else _write(row, hostname, describe_row(row) | {"detail": "left out"})


def describe_row(row: LogRow) -> dict[str, Json]:
    """A row as it is stored: whoever has the row before it can compute its hash."""
    return {
        "seq": row.seq, "id": row.id, "at": row.at, "operator": row.operator, "action": row.action,
        "tenant": row.tenant, "subject": row.subject, "detail": dict(row.detail), "origin": row.origin,
        "result": row.result, "hash": row.hash,
    }  # fmt: skip


def _write(row: LogRow, hostname: str, said: dict[str, Json]) -> bytes:
    priority = _AUDIT * 8 + _SEVERITY[row.result]
    time = moment(row.at).isoformat(timespec="microseconds").replace("+00:00", "Z")
    where = _UNPRINTABLE.sub("", hostname)[:255] or "-"
    what = _UNPRINTABLE.sub("", row.action)[:32] or "-"
    data = f'[log@{_ENTERPRISE} seq="{row.seq}" hash="{row.hash}" result="{row.result}"]'
    # The byte order mark says that what follows is UTF-8 (RFC 5424, 6.4).
    return f"<{priority}>1 {time} {where} circumspect - {what} {data} \ufeff{dumps(said)}".encode()


# --- to a receiver --------------------------------------------------------------------------------------------------


def make_context(authorities: str | None) -> ssl.SSLContext:
    """Certificates are checked, with those authorities or with the system's."""
    return ssl.create_default_context(cafile=authorities)


def send_messages(url: str, messages: Sequence[bytes], seconds: float, context: ssl.SSLContext | None = None) -> None:
    """Returns when the receiver has read all of them, by UDP when they have left. Raises `OSError` otherwise. Blocks
    for `seconds` at most."""
    parts, deadline = urlsplit(url), monotonic() + seconds
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    if parts.scheme == "udp":
        _send_datagrams(host, port, messages)
        return
    connection = socket.create_connection((host, port), timeout=seconds)
    with closing(connection):
        if context is not None and parts.scheme == "tls":
            connection.settimeout(_left(deadline))
            connection = context.wrap_socket(connection, server_hostname=host)
        with closing(connection):
            for message in messages:
                connection.settimeout(_left(deadline))
                connection.sendall(b"%d " % len(message) + message)
            _wait_for_end(connection, deadline)


def _send_datagrams(host: str, port: int, messages: Sequence[bytes]) -> None:
    kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(kind, socket.SOCK_DGRAM) as sender:
        # A connected socket hears of a port at which nobody listens, at the next message at the latest.
        sender.connect(address)
        for message in messages:
            sender.send(message)


def _wait_for_end(connection: socket.socket, deadline: float) -> None:
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(_left(deadline))
        try:
            connection = connection.unwrap()
        except ssl.SSLEOFError:
            return  # closed without TLS's own goodbye, as some do, but closed, not reset
    connection.shutdown(socket.SHUT_WR)
    while True:
        connection.settimeout(_left(deadline))
        if not connection.recv(4096):
            return


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the receiver took too long")
    return left
