"""Helpers for Django. Settings: ``ASSENT_SERVICE``, ``ASSENT_PIXEL``, ``ASSENT_WEBHOOK_SECRET``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from .client import AssentClient
from .models import Purpose
from .webhooks import Event, WebhookError, verify_webhook

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


@lru_cache(maxsize=1)
def client() -> AssentClient:
    """The client of the settings, also for contacts if ``ASSENT_API_KEY`` is set."""
    return AssentClient(settings.ASSENT_SERVICE, settings.ASSENT_PIXEL, getattr(settings, "ASSENT_API_KEY", None))


def permits(request: HttpRequest, purpose: Purpose) -> bool:
    """Whether a purpose is permitted for the visitor whom the header ``Assent-Visitor`` names."""
    return client().permits(request.headers.get("Assent-Visitor"), purpose)


def consent_required(purpose: Purpose) -> Callable[[View[P]], View[P]]:
    """A decorator of views: answers 403 unless the purpose is permitted."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not permits(request, purpose):
                return HttpResponse("consent is required", status=403, content_type="text/plain")
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def webhook(handler: Callable[[Event], None]) -> Callable[[HttpRequest], HttpResponse]:
    """Makes a view of a function that handles an event: 204 after it, 400 for a webhook that is not genuine."""

    def view(request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        try:
            event = verify_webhook(settings.ASSENT_WEBHOOK_SECRET, request.headers, request.body)
        except WebhookError:
            return HttpResponse(status=400)
        handler(event)
        return HttpResponse(status=204)

    return csrf_exempt(view)
