"""A CRM of the tests: the calls of HubSpot and Salesforce that docs/webhooks.md uses, as their makers
document them, and `/people` to see what came of them."""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, HTTPServer

people = {}


class Crm(BaseHTTPRequestHandler):
    def answer(self, status, body=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode())

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def is_known(self):
        if self.headers["Authorization"] == f"Bearer {os.environ['CRM_TOKEN']}":
            return True
        self.answer(401, {"message": "unauthorized"})
        return False

    def do_GET(self):
        self.answer(200, people)

    def do_POST(self):
        body = self.body()
        if not self.is_known():
            return None
        if self.path == "/crm/v3/objects/contacts/batch/upsert":
            results = []
            for item in body["inputs"]:
                assert item["idProperty"] == "hem" and item["properties"]["hem"] == item["id"]
                people[item["id"]] = item["properties"]
                results.append({"id": f"9{item['id'][-3:]}", "properties": item["properties"]})
            return self.answer(200, {"status": "COMPLETE", "results": results})
        if self.path == "/crm/v3/objects/contacts/batch/read":
            assert body["idProperty"] == "hem"
            known = [item["id"] for item in body["inputs"] if item["id"] in people]
            results = [{"id": f"9{hem[-3:]}", "properties": {"hem": hem}} for hem in known]
            return self.answer(200, {"status": "COMPLETE", "results": results})
        return self.answer(404, {"message": "no such path"})

    def do_PATCH(self):
        body = self.body()
        if not self.is_known():
            return None
        record = re.fullmatch(r"/services/data/v\d+\.0/sobjects/Contact/Hem__c/(\w+)", self.path)
        assert record and body["LastName"] and "Hem__c" not in body
        is_new = record[1] not in people
        people[record[1]] = body
        return self.answer(201 if is_new else 200,
                           {"id": "003", "success": True, "errors": [], "created": is_new})

    def do_DELETE(self):
        if not self.is_known():
            return None
        number = re.fullmatch(r"/crm/v3/objects/contacts/9(\w{3})", self.path)
        record = re.fullmatch(r"/services/data/v\d+\.0/sobjects/Contact/Hem__c/(\w+)", self.path)
        gone = [hem for hem in people
                if (number and hem.endswith(number[1])) or (record and hem == record[1])]
        for hem in gone:
            del people[hem]
        if gone or number:
            return self.answer(204)
        return self.answer(404, [{"errorCode": "NOT_FOUND", "message": "no such record"}])


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Crm).serve_forever()
