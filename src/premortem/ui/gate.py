"""Who may come in: this machine's own browser, with the token, under the server's own name.

The token is in the address that was printed; the first visit makes it a cookie, and takes it out of the address.
A page elsewhere can point its own name at 127.0.0.1 and make the browser ask: so the Host header must be ours.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Bokeh makes functions of the texts of its own tooltips, hence unsafe-eval; no script stands in a page.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """Around the whole application."""

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"premortem-{port}"  # cookies do not know ports: two servers must not share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "").lower() not in self._hosts:
            await _answer(send, 403, "This server answers only under its own address.")
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and self._is_token(given):
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Lax"
            moved = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
            await _answer(send, 303, "", moved)
            return
        sent = headers.get("authorization", "").removeprefix("Bearer ")  # of a program, for the API
        if not self._is_token(self._kept(headers.get("cookie", ""))) and not self._is_token(sent):
            await _answer(
                send,
                403,
                "The token is missing. Open the address that `premortem ui` has printed, all of it.",
            )
            return
        if scope["method"] not in {"GET", "HEAD"} and not self._is_own(headers):
            await _answer(send, 403, "Only this server's own pages may ask for that.")
            return

        async def dressed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        await self._app(scope, receive, dressed)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _is_own(self, headers: dict[str, str]) -> bool:
        """Only a script of the same origin can send this header without being asked about it first."""
        origin = headers.get("origin", "")
        return headers.get("x-premortem") == "1" and origin.removeprefix("http://") in self._hosts

    def _kept(self, cookies: str) -> str:
        try:
            kept = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return ""
        return kept.value if kept is not None else ""


async def _answer(
    send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = text.encode()
    start = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *HEADERS]
    start += [(b"content-length", str(len(body)).encode()), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
