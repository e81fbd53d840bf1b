"""Dependencies for FastAPI."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, HTTPException, Request

from .client import AsyncAssentClient
from .models import Purpose
from .webhooks import Event, WebhookError, verify_webhook


class Permits:
    """A dependency: whether a purpose is permitted for the visitor whom the header ``Assent-Visitor`` names."""

    def __init__(self, client: AsyncAssentClient, purpose: Purpose) -> None:
        self._client = client
        self._purpose = purpose

    async def __call__(self, assent_visitor: Annotated[str | None, Header()] = None) -> bool:
        return await self._client.permits(assent_visitor, self._purpose)


class ConsentRequired(Permits):
    """A dependency that answers 403 unless the purpose is permitted."""

    async def __call__(self, assent_visitor: Annotated[str | None, Header()] = None) -> bool:
        if not await super().__call__(assent_visitor):
            raise HTTPException(403, "consent is required")
        return True


class WebhookEvent:
    """A dependency that returns the event of a webhook, and answers 400 if it is not genuine."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def __call__(self, request: Request) -> Event:
        try:
            return verify_webhook(self._secret, request.headers, await request.body())
        except WebhookError:
            raise HTTPException(400, "the webhook is not genuine") from None
