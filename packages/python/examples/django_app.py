import os

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import path

from assent_consent import Event
from assent_consent.django import consent_required, permits, webhook

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
    ASSENT_SERVICE=os.environ["ASSENT_SERVICE"],
    ASSENT_PIXEL=os.environ["ASSENT_PIXEL"],
    ASSENT_WEBHOOK_SECRET=os.environ["ASSENT_WEBHOOK_SECRET"],
)
received: list[str] = []


@consent_required("resolution")
def offers(request: HttpRequest) -> HttpResponseBase:
    return JsonResponse({"offers": ["for you"]})


def page(request: HttpRequest) -> HttpResponseBase:
    return JsonResponse({"statistics": permits(request, "analytics")})


@webhook
def hooks(event: Event) -> None:
    received.append(event.type)


urlpatterns = [path("offers", offers), path("page", page), path("hooks", hooks)]
