"""An extension for Flask. Configuration: ``ASSENT_SERVICE``, ``ASSENT_PIXEL``, ``ASSENT_WEBHOOK_SECRET``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from flask import Flask, abort, current_app, request
from flask.typing import ResponseReturnValue

from .client import AssentClient
from .models import Purpose
from .webhooks import Event, WebhookError, verify_webhook

P = ParamSpec("P")
R = TypeVar("R")


class Assent:
    """Call it with the application, or call ``init_app`` later."""

    def __init__(self, app: Flask | None = None) -> None:
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        settings = app.config
        app.extensions["assent"] = AssentClient(settings["ASSENT_SERVICE"], settings["ASSENT_PIXEL"], settings.get("ASSENT_API_KEY"))

    @property
    def client(self) -> AssentClient:
        """The client of the current application, also for contacts if ``ASSENT_API_KEY`` is configured."""
        client: AssentClient = current_app.extensions["assent"]
        return client

    def permits(self, purpose: Purpose) -> bool:
        """Whether a purpose is permitted for the visitor whom the header ``Assent-Visitor`` names."""
        return self.client.permits(request.headers.get("Assent-Visitor"), purpose)

    def consent_required(self, purpose: Purpose) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """A decorator of views: answers 403 unless the purpose is permitted."""

        def decorate(view: Callable[P, R]) -> Callable[P, R]:
            @wraps(view)
            def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
                if not self.permits(purpose):
                    abort(403, "consent is required")
                return view(*args, **kwargs)

            return guarded

        return decorate

    def webhook(self, handler: Callable[[Event], None]) -> Callable[[], ResponseReturnValue]:
        """Makes a view of a function that handles an event: 204 after it, 400 for a webhook that is not genuine."""

        @wraps(handler)
        def view() -> ResponseReturnValue:
            try:
                event = verify_webhook(current_app.config["ASSENT_WEBHOOK_SECRET"], dict(request.headers.items()), request.get_data())
            except WebhookError:
                return "", 400
            handler(event)
            return "", 204

        return view
