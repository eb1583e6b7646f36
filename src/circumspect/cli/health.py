"""`circumspect health`: is the server on this machine alive, or with --ready: should it get requests?

For health checks of containers, every few seconds: it loads nothing that it does not need.
"""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import click

from circumspect.cli.find_settings import find_port
from circumspect.cli.options import config_option

SECONDS = 4.0


@click.command()
@click.option("--ready", is_flag=True, help="Ask whether it should get requests.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Its port. Without it, the one in the settings.",
)
@config_option
@click.option("--json", "as_json", is_flag=True, help="What the server says, as JSON.")
@click.pass_context
def health(
    context: click.Context, /, ready: bool, host: str, port: int | None, config: Path | None, as_json: bool
) -> None:
    """Ask a server on this machine whether it is alive. The exit code says it: 0 for yes, 1 for no.

    \b
    circumspect health
    circumspect health --ready --port 8080
    """
    status, said = _ask(host, find_port(config, port), "/readyz" if ready else "/healthz")
    if as_json:
        click.echo(json.dumps(said))
    else:
        click.echo("; ".join(f"{name}: {value}" for name, value in said.items()))
    context.exit(0 if status == 200 else 1)


def _ask(host: str, port: int, path: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        said = json.loads(answer.read(10_000))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, {"status": "not_reached", "problem": f"{host}:{port} {error or type(error).__name__}"}
    finally:
        connection.close()
    return answer.status, said if isinstance(said, dict) else {"status": str(said)}
