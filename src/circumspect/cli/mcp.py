"""`circumspect mcp`: a tenant's tools behind its policy, as an MCP server on standard input and output."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from circumspect.cli.options import config_option, database_option
from circumspect.cli.store_options import login


@click.command()
@click.option("--tenant", required=True, help="Whose tools: an id from `circumspect tenants list`.")
@click.option("--client", help="Who calls, for the record, and which pending calls are theirs. [default: your login]")
@database_option
@config_option
def mcp(tenant: str, client: str | None, database: str | None, config: Path | None) -> None:
    """Be an MCP server whose tools are the tenant's tools behind its policy.

    For the configuration of any MCP client: the command is `circumspect`, its arguments `mcp --tenant shop`. What needs
    a yes is asked of the client's user where the client can ask; otherwise it waits for a colleague
    (`circumspect approvals list`), and the same call made again gets what became of it.
    """
    asyncio.run(_serve(tenant, client or login(), database, config))


async def _serve(tenant: str, client: str, database: str | None, config: Path | None) -> None:
    from mcp.server.stdio import stdio_server

    from circumspect.server.background import in_background
    from circumspect.server.config import load_settings
    from circumspect.server.gateway import Gateway
    from circumspect.server.services import open_services
    from circumspect.values import ConversationId, TenantId

    settings = load_settings(config, database=database)
    async with open_services(settings) as services, in_background(services):
        await services.directory.setup(TenantId(tenant))
        session = ConversationId(services.ids.new("mcp"))
        gateway = Gateway(services, TenantId(tenant), session, client)
        server = gateway.server()
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
