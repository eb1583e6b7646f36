"""A mail message, and the two ways out: a folder of `.eml` files, or an SMTP server.

What people wrote goes into headers only after it was checked: no control characters, one address. The Message-ID is
made from the call's idempotency key.

The one choice that may surprise: a mail that may have left is never sent again. SMTP cannot be asked whether it took a
message, and servers do not drop a second one with the same Message-ID, so sending over SMTP is `blind`: a person is
told, and can find the Message-ID in the server's log. Up to the moment in which the text is handed over nothing has
left, and a failure is a plain failure. The outbox folder names the file after the key, so there a repeat is harmless.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Protocol

from circumspect.business.settings import Smtp
from circumspect.errors import ConfigError, ToolError, ToolTimeout
from circumspect.private_files import make_folder

ADDRESS = r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.\-]{0,251}[A-Za-z0-9])?$"
_ADDRESS = re.compile(ADDRESS.removeprefix("^").removesuffix("$"))
_LINE = re.compile(r"\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class MailSender:
    address: str
    name: str = ""

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.address) or not _plain(self.name):
            raise ConfigError(
                f"'{self.address}' cannot be a sender of mail.", fix="Give an address: office@example.com."
            )


class Mailer(Protocol):
    """Takes a whole message. Raises `ToolError` when it did not leave, `ToolTimeout` when nobody knows."""

    async def deliver(self, message: EmailMessage, key: str) -> None: ...


def message_id(key: str, domain: str) -> str:
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:32]}@{domain}>"


def compose(sender: MailSender, to: str, subject: str, body: str, key: str, at: datetime) -> EmailMessage:
    """The message. Raises `ToolError` for what must not stand in a header."""
    if not _ADDRESS.fullmatch(to) or ".." in to:
        raise ToolError("That is not one e-mail address; nothing was sent.", fix="Give a single address.")
    if not subject.strip() or not _plain(subject):
        raise ToolError("The subject must be one line of text; nothing was sent.")
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(sender.name, addr_spec=sender.address)
    message["To"] = Address(addr_spec=to)
    message["Subject"] = subject
    message["Date"] = format_datetime(at)
    message["Message-ID"] = message_id(key, sender.address.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    # Quoted-printable would let a line of the body that is a single dot, or ends in odd ways, depend on the server.
    message.set_content("\n".join(_LINE.split(body)), cte="base64")
    return message


def _plain(text: str) -> bool:
    return not any(unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs") for sign in text)


class Outbox:
    """Mail as files in a folder, for a demo or for another program to pick up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def deliver(self, message: EmailMessage, key: str) -> None:
        await asyncio.to_thread(self._write, bytes(message), key)

    def path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.eml"

    def _write(self, content: bytes, key: str) -> None:
        try:
            make_folder(self._folder)
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            # A reader of the folder never sees half a mail, and a repeated call never writes a second one.
            try:
                os.link(file.name, self.path(key))
            except FileExistsError:
                pass
            finally:
                os.unlink(file.name)
        except OSError as error:
            raise ToolError(f"The outbox cannot be written ({type(error).__name__}); nothing was sent.") from None


class SmtpMailer:
    def __init__(self, settings: Smtp) -> None:
        try:
            import aiosmtplib  # noqa: F401
        except ImportError:
            raise ConfigError("The package aiosmtplib is missing.", fix="Install circumspect[business].") from None
        self._settings = settings

    async def deliver(self, message: EmailMessage, key: str) -> None:
        import aiosmtplib

        settings = self._settings
        server = aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            cert_bundle=str(settings.ca_file) if settings.ca_file else None,
            timeout=settings.timeout,
        )
        try:
            async with _before_anything_leaves(settings.timeout):
                await _check_host(settings)
                await server.connect()
                if settings.user:
                    await server.login(settings.user, settings.password)
                await server.mail(message["From"].addresses[0].addr_spec)
                await server.rcpt(message["To"].addresses[0].addr_spec)
            try:
                await server.data(bytes(message))
            except aiosmtplib.SMTPResponseException as refused:
                raise ToolError(f"The mail server refused the message ({refused.code}); nothing was sent.") from None
            except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
                problem = f"The mail server was cut off ({type(error).__name__}) with {message['Message-ID']} in hand."
                raise ToolTimeout(f"{problem} It is not known whether the mail left.") from None
        finally:
            server.close()


async def _check_host(settings: Smtp) -> None:
    """A name is looked up once more when it is connected to: what answers differently then is not caught here."""
    if settings.allow is None:
        return
    from circumspect import outgoing

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    try:
        await outgoing.check_target(f"https://{host}:{settings.port}", settings.allow)
    except outgoing.BlockedAddress as error:
        raise ToolError(f"The mail server may not be called: {error.problem}", fix=error.fix) from None


@asynccontextmanager
async def _before_anything_leaves(seconds: float) -> AsyncIterator[None]:
    """Whatever fails in here fails before the message was handed over."""
    import aiosmtplib

    try:
        async with asyncio.timeout(seconds):
            yield
    except aiosmtplib.SMTPAuthenticationError:
        raise ToolError("The mail server does not accept our credentials; nothing was sent.") from None
    except aiosmtplib.SMTPResponseException as refused:
        raise ToolError(f"The mail server refused sender or address ({refused.code}); nothing was sent.") from None
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        raise ToolError(f"The mail server cannot be used ({type(error).__name__}); nothing was sent.") from None
