import os
from typing import Annotated

from fastapi import Depends, FastAPI

from assent_consent import AsyncAssentClient, Event
from assent_consent.fastapi import ConsentRequired, Permits, WebhookEvent

app = FastAPI()
client = AsyncAssentClient(os.environ["ASSENT_SERVICE"], os.environ["ASSENT_PIXEL"])
received: list[str] = []


@app.get("/offers", dependencies=[Depends(ConsentRequired(client, "resolution"))])
async def offers() -> dict[str, list[str]]:
    return {"offers": ["for you"]}


@app.get("/page")
async def page(statistics: Annotated[bool, Depends(Permits(client, "analytics"))]) -> dict[str, bool]:
    return {"statistics": statistics}


@app.post("/hooks", status_code=204)
async def hooks(event: Annotated[Event, Depends(WebhookEvent(os.environ["ASSENT_WEBHOOK_SECRET"]))]) -> None:
    received.append(event.type)
