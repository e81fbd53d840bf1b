"""The code in the README of each package runs against the real service, or is part of a tested application."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parents[1]
APPS = PACKAGES / "web/apps"
MAX_LINES = 110


def blocks(package: str) -> list[tuple[str, str]]:
    """The language line and the text of each block of code."""
    text = (PACKAGES / package / "README.md").read_text()
    return re.findall(r"^```(\S[^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shared_refusal(site: Any) -> str:
    """The cookie of a visitor who has refused just now, on a site whose subdomains share one choice."""
    return f"assent=1.{site.pixel}.declined.{int(time.time()) * 1000}..{'e7' * 32}.v-1.r-1.c1"


def filled(code: str, site: Any, visitor: str = "") -> str:
    values = {
        "https://consent.example.com": site.base, "PIXEL_ID": site.pixel, "API_KEY": site.key,
        "WEBHOOK_SECRET": site.secret, "VISITOR_ID": visitor,
    }
    for name, value in values.items():
        code = re.sub(rf"(?<![.\w]){re.escape(name)}", value, code)
    return code


@pytest.mark.parametrize("package", ["web", "python", "php", "debian", "cli-npm", "cli-python"])
def test_a_readme_is_one_page(package: str) -> None:
    assert len((PACKAGES / package / "README.md").read_text().splitlines()) <= MAX_LINES


def test_the_python_readme_runs(site: Any, delivery: Any, capsys: pytest.CaptureFixture[str]) -> None:
    visitor = site.choose("accepted", ["analytics", "resolution"])
    namespace: dict[str, Any] = {"__name__": "readme", "headers": delivery.headers, "body": delivery.body}
    found = [code for language, code in blocks("python") if language == "python"]
    assert len(found) == 6
    for code in found:
        exec(compile(filled(code, site, visitor), "README.md", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1" and printed[1].endswith("{'name': 'Ann'}"), printed
    assert printed[2:4] == ["purpose_not_granted", "True"], printed
    assert "choice.recorded" in printed[4], printed


def test_the_lines_of_the_web_readme_are_in_the_tested_applications() -> None:
    named = [(language.split(" ")[1], code) for language, code in blocks("web") if "/" in language]
    assert {file.split("/")[0] for file, _ in named} == {"next", "nuxt", "vite-vue", "sveltekit", "astro"}
    for file, code in named:
        app = file.split("/")[0]
        lines = (APPS / file).read_text().splitlines()
        for line in code.replace("https://consent.example.com", "http://consent.example").replace("PIXEL_ID", app).splitlines():
            assert line in lines, f"{file} does not contain: {line}"


@pytest.mark.parametrize(
    ("ecosystem", "source", "pixel"),
    [
        ("react", "web/apps/vite-react/src/main.jsx", "vite-react"),
        ("next", "web/apps/next/app/layout.jsx", "next"),
        ("vue", "web/apps/vite-vue/src/main.js", "vite-vue"),
        ("nuxt", "web/apps/nuxt/nuxt.config.mjs", "nuxt"),
        ("svelte", "web/apps/sveltekit/src/routes/+layout.svelte", "sveltekit"),
        ("astro", "web/apps/astro/astro.config.mjs", "astro"),
        ("python", "python/README.md", "PIXEL_ID"),
        ("php", "php/README.md", "PIXEL_ID"),
    ],
)
def test_the_lines_that_the_service_shows_are_tested_ones(ecosystem: str, source: str, pixel: str) -> None:
    text = (PACKAGES.parent / f"templates/texts/ecosystems/{ecosystem}.md.tera").read_text()
    base = "https://consent.example.com" if source.endswith(".md") else "http://consent.example"
    shown = text.replace("{{ base_url }}", base).replace("{{ pixel_id }}", pixel)
    found = re.findall(r"^```(?!sh)\S+\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    lines = (PACKAGES / source).read_text().splitlines()
    assert [line for line in found[0].splitlines() if line not in lines] == []


def test_the_files_that_the_service_names_are_those_of_a_release() -> None:
    texts = "".join(file.read_text() for file in (PACKAGES.parent / "templates/texts/ecosystems").iterdir())
    named = set(re.findall(r"[\w-]+-\{\{ version \}\}[\w.-]*", texts))
    release = (PACKAGES.parent / "scripts/release").read_text()
    assert named == {"assent-consent-wordpress-{{ version }}.zip", "assent-web-{{ version }}.tgz", "assent_consent-{{ version }}-py3-none-any.whl", "assent-{{ version }}.php"}
    for name in named - {"assent_consent-{{ version }}-py3-none-any.whl"}:
        assert name.replace("{{ version }}", "$version") in release, name


def test_the_server_code_of_the_web_readme_runs(site: Any, delivery: Any, tmp_path: pathlib.Path) -> None:
    (code,) = [code for language, code in blocks("web") if language == "js server"]
    module = tmp_path / "server.mjs"
    module.write_text(filled(code.replace("process.env.WEBHOOK_SECRET", "process.env.HOOK_SECRET"), site))
    (tmp_path / "node_modules/@assent").mkdir(parents=True)
    (tmp_path / "node_modules/@assent/web").symlink_to(PACKAGES / "web")
    script = tmp_path / "test.mjs"
    script.write_text(f"""
        import {{ page, hook, renew }} from './server.mjs';
        const visit = async (visitor) => (await page(new Request('http://shop.example/', {{ headers: {{ 'Assent-Visitor': visitor }} }}))).text();
        console.log(await visit(process.env.ACCEPTED), await visit(process.env.DECLINED), await visit(''));
        const headers = JSON.parse(process.env.HEADERS);
        const post = (body) => hook(new Request('http://shop.example/', {{ method: 'POST', headers, body }}));
        console.log((await post(process.env.BODY)).status);
        console.log(await post(process.env.BODY + ' ').catch((error) => error.name));
        const shop = new Response();
        renew(new Request('http://shop.example/', {{ headers: {{ Cookie: process.env.COOKIE }} }}), shop);
        console.log(shop.headers.get('Set-Cookie'), shop.headers.get('Cache-Control'));
    """)
    signed = {name: value for name, value in delivery.headers.items() if name.startswith("webhook-")}
    cookie = shared_refusal(site)
    values = {
        "HOOK_SECRET": site.secret, "ACCEPTED": site.choose("accepted", ["analytics"]), "DECLINED": site.choose("declined"),
        "HEADERS": json.dumps(signed), "BODY": delivery.body.decode(), "COOKIE": cookie,
    }
    done = subprocess.run(["node", str(script)], env={**os.environ, **values}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "statistics no statistics no statistics"
    assert lines[1].startswith("choice.recorded")
    assert lines[-3:-1] == ["204", "WebhookError"]
    assert lines[-1].startswith(f"{cookie}; Max-Age=") and lines[-1].endswith("; SameSite=Lax private"), lines[-1]


def test_the_php_readme_runs(php: str, site: Any, delivery: Any, tmp_path: pathlib.Path) -> None:
    shutil.copy(PACKAGES / "php/assent.php", tmp_path)
    client, receiver, subdomains = [code for language, code in blocks("php") if language == "php"]
    (tmp_path / "client.php").write_text(filled(client, site))
    (tmp_path / "receiver.php").write_text(filled(receiver, site))
    (tmp_path / "subdomains.php").write_text(filled(subdomains, site))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([php, "-S", f"127.0.0.1:{port}", "-t", str(tmp_path)], stdout=log, stderr=log)
    try:
        visitor = site.choose("accepted", ["resolution"])
        status, text = request(port, "/client.php", {"Assent-Visitor": visitor})
        assert (status, text.splitlines()[0]) == (200, "1"), text
        assert len(text.splitlines()) == 2
        assert request(port, "/client.php", {"Assent-Visitor": site.choose("declined")})[1].count("\n") == 1
        signed = {name: value for name, value in delivery.headers.items() if name.startswith("webhook-")}
        assert request(port, "/receiver.php", signed, delivery.body)[0] == 204
        assert request(port, "/receiver.php", signed, delivery.body + b" ")[0] == 400
        assert request(port, "/subdomains.php", {}) == (200, "no choice\n")
        cookie = shared_refusal(site)
        address = f"http://127.0.0.1:{port}/subdomains.php"
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Cookie": cookie})) as answer:
            assert answer.read() == b"declined\n"
            assert answer.headers["Set-Cookie"].startswith(f"{cookie}; Max-Age="), answer.headers["Set-Cookie"]
            assert answer.headers["Cache-Control"] == "private"
    finally:
        server.terminate()
        server.wait()


def request(port: int, path: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, str]:
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
