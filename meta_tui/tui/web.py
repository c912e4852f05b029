"""The app in a browser, for playback only (extra `web`). The one import of textual-serve.

What it serves can play, compare and replay recorded runs; it can ask no model, write no file and
show no setting. It listens on this machine alone, under a path that nobody can guess, and takes
only requests that name this machine as their host and, where they open a connection, as their
origin: a page of another site can neither read nor drive it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

from meta_tui.models.secrets import secret_values

HOST = "127.0.0.1"
MOST = 8
"""Browsers at once; each has a process of its own."""

_FOREIGN = re.compile(r"<link\b[^>]*https?://(?!127\.0\.0\.1[:/]|localhost[:/])[^>]*>")
"""A style sheet from elsewhere in the page of textual-serve: the policy would refuse it anyway."""

NO_ICON = '<link rel="icon" href="data:," />'
"""So that a browser does not ask for one."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PlaybackServer(Server):  # type: ignore[misc]
    """Serves the app under a secret path.

    Args:
        path: the run to play; None serves the list of runs.
        port: port on this machine.
        token: the secret path; None draws one.
    """

    def __init__(self, path: Path | None, port: int, token: str | None = None) -> None:
        command = [sys.executable, "-m", "meta_tui.tui.served", *([str(path)] if path else [])]
        super().__init__(shlex.join(command), host=HOST, port=port, title="meta-tui")
        self.token = token or secrets.token_urlsafe(24)
        self._open = 0

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"{self.public_url}/{self.token}/"

    async def _make_app(self) -> web.Application:
        guarded = web.Application(middlewares=[self._guard])
        guarded.add_subapp(f"/{self.token}", await super()._make_app())
        return guarded

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: whoever starts this says where it is."""

    def initialize_logging(self) -> None:
        """No log on the terminal."""

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self.allowed(request.headers.get("Host"), request.headers.get("Origin"), request.path):
            raise web.HTTPForbidden(text="meta-tui serves this page to this machine only")
        response = await handler(request)
        if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
            response.text = _FOREIGN.sub(NO_ICON, response.text)
        if not response.prepared:
            response.headers.update(self._headers())
        return response

    def allowed(self, host: str | None, origin: str | None, path: str) -> bool:
        """Whether a request may be answered: its host is this machine, and so is its origin."""
        hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        if host not in hosts:
            return False
        if origin is None:
            return not path.endswith("/ws")
        return origin in {f"http://{name}" for name in hosts}

    def _headers(self) -> dict[str, str]:
        own = f"ws://{HOST}:{self.port} ws://localhost:{self.port}"
        policy = (
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data:; font-src 'self' data:; connect-src 'self' {own}; frame-ancestors 'none'"
        )
        return {
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One browser, one process; no more than a few of them."""
        if self._open >= MOST:
            raise web.HTTPServiceUnavailable(text="too many browsers look at this already")
        self._open += 1
        try:
            answer: web.WebSocketResponse = await super().handle_websocket(request)
            return answer
        finally:
            self._open -= 1


def forget_keys() -> None:
    """Take keys out of the environment: what is served has no use for them."""
    values = set(secret_values())
    for name in [name for name, value in os.environ.items() if value in values]:
        del os.environ[name]


def serve(path: Path | None, port: int, say: Callable[[str], None]) -> None:
    """Serve until it is interrupted.

    Args:
        path: the run to play; None serves the list of runs.
        port: port on this machine.
        say: told where a browser finds it.
    """
    forget_keys()
    server = PlaybackServer(path, port)
    say(server.address)
    server.serve()
