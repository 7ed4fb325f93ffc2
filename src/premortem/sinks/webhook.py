"""`--notify https://...`: a webhook that takes `{"text": ...}`, as Slack's, Mattermost's and many others do."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from premortem import __version__, redaction
from premortem.errors import UsageError
from premortem.sinks.notify import Message, Notifier, Undelivered

TIMEOUT = 10.0
TRIES = 3
BUSY = 429


class Webhook(Notifier):
    def __init__(self, url: str) -> None:
        super().__init__()
        host = urlsplit(url).hostname
        if not host:
            raise UsageError("`--notify` needs the whole address of the webhook: https://host/path")
        self._url = url  # everyone who knows it can write there, so it is never shown
        redaction.learn(url)
        redaction.learn(urlsplit(url).path)
        self.name = f"the webhook at {host}"

    def send(self, message: Message) -> None:
        text = "\n".join([f"*{_escaped(message.subject)}*", *map(_escaped, message.lines)])
        headers = {"Content-Type": "application/json", "User-Agent": f"premortem/{__version__}"}
        request = urllib.request.Request(self._url, json.dumps({"text": text}).encode(), headers)  # noqa: S310 - http and https only
        for attempt in range(1, TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT):  # noqa: S310 - likewise
                    return
            except urllib.error.HTTPError as error:
                error.close()
                if attempt == TRIES or not (error.code == BUSY or error.code >= 500):
                    raise Undelivered(f"it answered {error.code}") from None
            except OSError as error:
                if attempt == TRIES:
                    raise Undelivered("it could not be reached") from error
            time.sleep(attempt)


def _escaped(text: str) -> str:
    """What Slack would take for a link, a channel or a person."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
