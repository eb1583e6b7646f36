"""`circumspect mcp`: a tenant's tools behind its policy, as an MCP server on standard input and output."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from circumspect.cli.mcp_config import CLIENTS, McpClient, SecretPlaces, describe_address, describe_program, make_config
from circumspect.cli.options import config_option, database_option
from circumspect.cli.store_options import login


@click.command()
@click.option("--tenant", required=True, help="Whose tools: an id from `circumspect tenants list`.")
@click.option("--client", help="Who calls, for the record, and which pending calls are theirs. [default: your login]")
@click.option("--print-config", "printed", type=click.Choice(list(CLIENTS)), help="Print this client's configuration.")
@click.option("--url", help="With --print-config: where a server runs, instead of starting a program.")
@click.option("--with-secrets", is_flag=True, help="With --print-config: write secrets out, from this environment.")
@database_option
@config_option
def mcp(
    tenant: str,
    client: str | None,
    printed: str | None,
    url: str | None,
    with_secrets: bool,
    database: str | None,
    config: Path | None,
) -> None:
    """Be an MCP server whose tools are the tenant's tools behind its policy.

    For the configuration of any MCP client: the command is `circumspect`, its arguments `mcp --tenant shop`;
    `--print-config` writes it for those it knows. What needs a yes is asked of the client's user where the client can
    ask; otherwise it waits for a colleague (`circumspect approvals list`), and the same call made again gets what
    became of it. Clients on other machines use `/mcp` of `circumspect serve`.
    """
    if printed is not None:
        _print_config(CLIENTS[printed], tenant, client, url, with_secrets, database, config)
        return
    if url or with_secrets:
        raise click.UsageError("--url and --with-secrets go with --print-config.")
    asyncio.run(_serve(tenant, client or login(), database, config))


def _print_config(
    known: McpClient,
    tenant: str,
    client: str | None,
    url: str | None,
    with_secrets: bool,
    database: str | None,
    config: Path | None,
) -> None:
    from circumspect.server.config import load_settings, read

    secrets = SecretPlaces(known, written=with_secrets)
    if url:
        server = describe_address(url, secrets)
    else:
        load_settings(config, database=database)  # whatever is wrong with them is said here
        arguments = ["--tenant", tenant, *(["--client", client] if client else [])]
        server = describe_program(arguments, read(config, database=database), secrets)
    click.echo(json.dumps(make_config(known, tenant, server, secrets), indent=2))
    click.echo(f"For {known.file}.", err=True)


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
