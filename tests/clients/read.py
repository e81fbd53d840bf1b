"""Reads the service's answers with the models of datamodel-code-generator."""

import json
import sys
import urllib.error
import urllib.request

from generated.models import ContactPage, PlanList, Problem, SignupRequest, ValidationProblem


def answer(base: str, path: str, body: object = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, data=data)) as response:
            read: bytes = response.read()
    except urllib.error.HTTPError as error:
        read = error.read()
    return read


def main(base: str) -> None:
    plans = PlanList.model_validate_json(answer(base, "/v1/plans"))
    assert plans.plans[0].monthly_cents == 100
    sample = ContactPage.model_validate_json(answer(base, "/v1/sample"))
    assert len(sample.contacts) == 3
    signup = SignupRequest(email="models@example.com", display_name="x" * 200)
    body = {**signup.model_dump(mode="json", exclude_none=True), "code": 7}
    problem = Problem.model_validate_json(answer(base, "/v1/accounts", body))
    assert problem.detail == "invalid request" and problem.errors
    assert problem.errors[0].loc == ["body", "code"]
    unread = answer(base, "/v1/signup/resend-code", {"email": 7})
    assert ValidationProblem.model_validate_json(unread).detail[0].msg == "must be a string"


main(sys.argv[1])
