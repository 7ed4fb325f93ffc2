"""`--notify mailto:you@example.org`: by SMTP.

The server is in the environment, so that no password is in a command line:
`PREMORTEM_SMTP=smtp://user:password@mail.example.org:587` (`smtps://` for TLS from the first byte). Without it, the
mail server of this machine is asked.
"""

from __future__ import annotations

import os
import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from premortem.errors import UsageError
from premortem.sinks.notify import Message, Notifier, Undelivered

TIMEOUT = 20.0
LOCAL = ("localhost", "127.0.0.1", "::1")


class Mail(Notifier):
    name = "the mail server"

    def __init__(self, target: str) -> None:
        super().__init__()
        named = unquote(target.removeprefix("mailto:").partition("?")[0])
        self._to = [address.strip() for address in named.split(",") if address.strip()]
        if not self._to or any("@" not in address or not address.isprintable() for address in self._to):
            raise UsageError("`--notify mailto:` needs an address: mailto:you@example.org")
        server = urlsplit(os.environ.get("PREMORTEM_SMTP") or "smtp://localhost:25")
        if server.scheme not in {"smtp", "smtps"} or not server.hostname:
            raise UsageError("PREMORTEM_SMTP must look like smtp://user:password@host:587 or smtps://host")
        self._server = server

    def send(self, message: Message) -> None:
        user, password = unquote(self._server.username or ""), unquote(self._server.password or "")
        letter = EmailMessage()
        letter["Subject"] = " ".join(f"[premortem] {message.subject}".split())
        letter["From"] = user if "@" in user else self._to[0]
        letter["To"] = ", ".join(self._to)
        letter.set_content("\n".join(message.lines) + "\n")
        try:
            self._post(letter, user, password)
        except (OSError, smtplib.SMTPException) as error:
            raise Undelivered(f"{type(error).__name__} of SMTP") from error

    def _post(self, letter: EmailMessage, user: str, password: str) -> None:
        host, port = self._server.hostname or "", self._server.port
        context = ssl.create_default_context()
        if self._server.scheme == "smtps":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(host, port or 465, timeout=TIMEOUT, context=context)
        else:
            connection = smtplib.SMTP(host, port or 25, timeout=TIMEOUT)
        with connection:
            connection.ehlo()
            secure = self._server.scheme == "smtps"
            if not secure and connection.has_extn("starttls"):
                connection.starttls(context=context)
                connection.ehlo()
                secure = True
            if user and password:
                if not secure and host not in LOCAL:
                    raise Undelivered("it offers no encryption, so the password was not sent")
                connection.login(user, password)
            connection.send_message(letter)
