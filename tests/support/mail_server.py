"""A real SMTP server for the tests.

Prints its port, then keeps every message it took as FOLDER/RECIPIENT/NUMBER.json. How it behaves
is chosen by the recipient's local part:

    refuse…   550 at RCPT          later…   451 at RCPT          stall…   no answer at RCPT
    slow…     takes the text, answers after 12 seconds
    pause…    takes the text, answers after 2 seconds
    drop…     takes the text, and closes the connection without an answer

A second argument `ascii` leaves out SMTPUTF8, as many servers do.

Ends when its standard input is closed, so that it never outlives the tests.
"""

import asyncio
import email
import email.policy
import itertools
import json
import pathlib
import sys

from aiosmtpd.smtp import SMTP


class Handler:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.numbers = itertools.count()

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refuse"):
            return "550 no such user"
        if address.startswith("later"):
            return "451 try again later"
        if address.startswith("stall"):
            await asyncio.sleep(60)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        parts = {part.get_content_type(): part.get_content() for part in message.walk() if not part.is_multipart()}
        record = {
            "from": message["From"],
            "to": message["To"],
            "subject": message["Subject"],
            "headers": dict(message.items()),
            "hello": session.host_name,
            "envelope_from": envelope.mail_from,
            "options": envelope.mail_options,
            "text": parts.get("text/plain"),
            "html": parts.get("text/html"),
        }
        for recipient in envelope.rcpt_tos:
            inbox = self.folder / recipient
            inbox.mkdir(parents=True, exist_ok=True)
            name = f"{next(self.numbers):06}"
            (inbox / f"{name}.part").write_text(json.dumps(record))
            (inbox / f"{name}.part").rename(inbox / f"{name}.json")
            if recipient.startswith("slow"):
                await asyncio.sleep(12)
            if recipient.startswith("pause"):
                await asyncio.sleep(2)
            if recipient.startswith("drop"):
                server.transport.abort()
        return "250 OK"


async def serve(folder, takes_utf8):
    handler = Handler(folder)
    loop = asyncio.get_running_loop()
    # Not aiosmtpd's own controller: it cannot take whatever port is free.
    server = await loop.create_server(
        lambda: SMTP(handler, hostname="127.0.0.1", enable_SMTPUTF8=takes_utf8), "127.0.0.1", 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(serve(sys.argv[1], takes_utf8="ascii" not in sys.argv[2:]))
