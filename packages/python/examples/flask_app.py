import os

from flask import Flask, jsonify
from flask.typing import ResponseReturnValue

from assent_consent import Event
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
