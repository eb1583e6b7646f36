"""mcp_stdio: an MCP server as a process of ours -> the pair of streams that the SDK's client speaks through.

Our own and not the SDK's, for two reasons: a message has a largest size here (the SDK collects a line until it ends,
however long it is), and what the server writes to standard error comes to us instead of to the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

McpMessage = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[McpMessage], MemoryObjectSendStream[SessionMessage]]

GRACE = 2.0
"""Seconds for a server to leave by itself once its standard input is closed, and again after it was told to."""
_LONGEST_COMPLAINT = 4_000
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def stdio(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    *,
    max_bytes: int,
    on_stderr: Callable[[str], None],
    on_end: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Start the server and speak with it; `on_end` hears why it stopped. Leaving ends its whole process group."""
    process = await anyio.open_process(
        [command, *args], env=get_default_environment() | dict(env), cwd=cwd, start_new_session=True
    )
    stdin, stdout, stderr = _pipes(process)
    incoming, read = anyio.create_memory_object_stream[McpMessage](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_receive, stdout, incoming, max_bytes, on_end)
        tasks.start_soon(_send, stdin, outgoing, incoming)
        tasks.start_soon(_complaints, stderr, on_stderr)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                for stream in (read, write, incoming, outgoing):
                    stream.close()
                await _stop(process)
            tasks.cancel_scope.cancel()


async def _receive(
    stdout: ByteReceiveStream,
    incoming: MemoryObjectSendStream[McpMessage],
    max_bytes: int,
    on_end: Callable[[str], None],
) -> None:
    held = bytearray()
    why = "it ended"
    async with incoming:
        with suppress(*_GONE):
            while True:
                looked = len(held)
                held += await stdout.receive()
                while (end := held.find(b"\n", looked)) >= 0:
                    line, looked = bytes(held[:end]), 0
                    del held[: end + 1]
                    with suppress(ValueError):  # what is no message is chatter, and nobody waits for it
                        await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
                if len(held) > max_bytes:
                    why = f"it sent a message of more than {max_bytes:,} bytes"
                    break
    on_end(why)
    with suppress(*_GONE):  # a server that cannot write does not hear that it should leave
        while True:
            await stdout.receive()


async def _send(
    stdin: ByteSendStream,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[McpMessage],
) -> None:
    async with outgoing:
        try:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(line.encode() + b"\n")
        except _GONE:
            incoming.close()


async def _complaints(stderr: ByteReceiveStream, on_stderr: Callable[[str], None]) -> None:
    held = b""
    with suppress(*_GONE):
        while True:
            *lines, held = (held + await stderr.receive()).split(b"\n")
            held = held[:_LONGEST_COMPLAINT]
            for line in lines:
                if text := line[:_LONGEST_COMPLAINT].decode("utf-8", "replace").strip():
                    on_stderr(text)


async def _stop(process: Process) -> None:
    """Close its input, wait, then end the whole group: a wrapper (npx, uvx, a shell) has children of its own."""
    stdin, stdout, stderr = _pipes(process)
    with suppress(*_GONE):
        await stdin.aclose()
    left = await _has_left(process)
    if sys.platform == "win32":
        if not left:
            process.terminate()
    else:
        await terminate_posix_process_tree(process, GRACE)  # the group: children stay when their parent leaves
    if not left:
        await _has_left(process)
    for stream in (stdout, stderr):
        with suppress(*_GONE):
            await stream.aclose()


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream, ByteReceiveStream]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise OSError("the process was started without pipes")
    return process.stdin, process.stdout, process.stderr


async def _has_left(process: Process) -> bool:
    """Not `process.wait()`, which also waits for whoever inherited the pipes."""
    with anyio.move_on_after(GRACE):
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    return process.returncode is not None
