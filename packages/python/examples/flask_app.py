import os

from flask import Flask, Response, jsonify, request
from flask.typing import ResponseReturnValue

from assent_consent import Event, renewed_cookie
from assent_consent.flask import Assent

app = Flask(__name__)
app.config.from_mapping({name: value for name, value in os.environ.items() if name.startswith("ASSENT_")})
assent = Assent(app)
received: list[str] = []


@app.get("/offers")
@assent.consent_required("resolution")
def offers() -> ResponseReturnValue:
    return jsonify(offers=["for you"])


@app.get("/page")
def page() -> ResponseReturnValue:
    return jsonify(statistics=assent.permits("analytics"))


@app.post("/hooks")
@assent.webhook
def hooks(event: Event) -> None:
    received.append(event.type)


@app.get("/")
def home() -> ResponseReturnValue:
    return "<!doctype html><title>Shop</title>"


@app.after_request
def renew(response: Response) -> Response:
    """Only for Safari, and only if subdomains share one choice."""
    if response.mimetype != "text/html":
        return response
    cookie = renewed_cookie(request.headers.get("Cookie"), app.config["ASSENT_PIXEL"], "shop.example")
    if cookie:
        response.headers.add("Set-Cookie", cookie)
        # A shared cache would give the cookie to other visitors.
        response.cache_control.private = True
    return response
