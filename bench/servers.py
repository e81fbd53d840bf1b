"""The servers of a measurement: each in a process of its own, on a port of its own."""

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
OUT = TARGET / "bench"

def a_quarter_of_the_memory():
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages // 4 // 2**20}MB"


# Settings for a table of some gigabytes. A quarter of the memory is the advice of PostgreSQL's documentation
# (20.4, shared_buffers); durability is PostgreSQL's default.
POSTGRES_SETTINGS = {
    "shared_buffers": a_quarter_of_the_memory(),
    "min_wal_size": "4GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "max_connections": "300",
}

# Fills the write-ahead log once. A server that has run for a while reuses its segments; a new one creates
# and clears a file for each, and all commits wait for it.
FILL_WAL = """
    SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', 1048576)))
    FROM generate_series(1, 4096);
    CHECKPOINT"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def write_ids(pixels):
    """Writes a file with these ids, one per line, for `many.lua`."""
    with tempfile.NamedTemporaryFile("w", dir=OUT, suffix=".pixels", delete=False) as file:
        file.write("".join(f"{pixel}\n" for pixel in pixels))
    return file.name


def postgres_programs():
    named = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
    folders = [Path(named.stdout.strip())] if named.returncode == 0 else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise SystemExit("PostgreSQL's server programs are missing")


class Postgres:
    """A cluster on a real disk (/var/tmp is one), with fsync and synchronous_commit on."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="assent-bench.", dir="/var/tmp"))
        self.programs = postgres_programs()
        self.port = free_port()
        self.as_user = []
        if os.geteuid() == 0:
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self.home, "postgres", "postgres")
        data = self.home / "data"
        self._run("initdb", f"--pgdata={data}", "--username=postgres", "--auth=trust",
                  "--encoding=UTF8", "--locale=C")
        settings = {"port": self.port, "listen_addresses": "127.0.0.1",
                    "unix_socket_directories": self.home, **POSTGRES_SETTINGS}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run("pg_ctl", "start", "--wait", f"--pgdata={data}", f"--log={self.home}/log",
                  f"--options={options}")
        self.sql("postgres", FILL_WAL)

    def _run(self, program, *arguments):
        command = [*self.as_user, self.programs / program, *arguments]
        done = subprocess.run(command, cwd=self.home, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{program}: {done.stderr}")

    def url(self, database):
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def sql(self, database, statements):
        done = subprocess.run(
            [self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url(database)],
            input=statements, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout.strip()

    @contextlib.contextmanager
    def session(self, database):
        """A psql with pipes, which ends with the block."""
        command = [self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
            yield session

    def version(self):
        return self.sql("postgres", "SHOW server_version")

    def stop(self):
        self._run("pg_ctl", "stop", f"--pgdata={self.home}/data", "--mode=immediate")
        shutil.rmtree(self.home)


class Service:
    """`assent serve`, or another program that is configured like it."""

    # The peak memory of any service of this measurement, in KiB.
    peak_kib = 0

    def __init__(self, postgres, database, program=TARGET / "release/assent", **settings):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        environment = {
            "PATH": os.environ["PATH"], "DATABASE_URL": postgres.url(database),
            "RECEIPT_SECRETS": "receipt-secret-of-the-bench", "RATE_LIMITS": "off",
            "ROCKET_PORT": str(self.port), **settings}
        self.log = open(OUT / f"service-{self.port}.log", "wb")
        self.process = subprocess.Popen([program], cwd=ROOT, env=environment, stderr=self.log)
        atexit.register(self.process.kill)
        wait_for(self.port)

    def call(self, method, path, body=None, **headers):
        request = urllib.request.Request(self.base + path, method=method, headers=headers,
                                         data=json.dumps(body).encode() if body else None)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def json(self, *arguments, **headers):
        return json.loads(self.call(*arguments, **headers))

    def site(self, domain="shop.example"):
        """Opens an account with a pixel that asks visitors, keeps its key, and passes the build of the tag to the
        loads. Returns pixel id and policy hash."""
        account = self.json("POST", "/v1/accounts",
                            {"email": f"owner@{domain}", "display_name": "Shop"})
        self.call("GET", account["verification_url"].split(str(self.port), 1)[1])
        key = self.json("POST", f"/v1/api-keys?account_id={account['account_id']}",
                        **{"x-signup-token": account["signup_token"]})["api_key"]
        self.key = key
        credentials = {"Authorization": f"Bearer {key}"}
        pixel = self.json("POST", "/v1/pixels", {"domain": domain}, **credentials)["pixel_id"]
        wish = {"controller_name": "Shop Ltd", "purposes": ["analytics", "resolution"]}
        policy = self.json("POST", f"/v1/pixels/{pixel}/consent", wish, **credentials)
        # Choices name the build of their tag, and the service stores builds that it has served.
        tag = self.call("GET", f"/px/{pixel}.js").decode()
        os.environ["BENCH_BUILD"] = re.search('"build":"([0-9a-f]+)"', tag)[1]
        return pixel, policy["policy_hash"]

    def _status(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{field}:")[1].split()[0])

    def peak(self):
        """The peak memory of the process so far, in KiB."""
        return self._status("VmHWM")

    def resident_kib(self):
        """The memory of the process now, in KiB."""
        return self._status("VmRSS")

    def program_kib(self):
        """The pages of the program's file and libraries that are in memory, in KiB."""
        return self._status("RssFile")

    def stop(self, counts=True):
        if counts:
            Service.peak_kib = max(Service.peak_kib, self.peak())
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.log.close()


class Nginx:
    """An nginx in a folder with these files. `config` is its configuration: a file of bench/load with the placeholders
    `@HOME@` and `@PORT@`. `nginx.conf` has one worker, and caches the files and their handles in memory."""

    def __init__(self, files, config="nginx.conf"):
        self.home = Path(tempfile.mkdtemp(prefix="assent-nginx.", dir="/var/tmp"))
        self.port = free_port()
        template = (ROOT / "bench/load" / config).read_text()
        filled = template.replace("@HOME@", str(self.home)).replace("@PORT@", str(self.port))
        self.start({**files, "nginx.conf": filled.encode()})

    def start(self, files, *options):
        """Starts nginx in `home`, after writing these files, with `nginx.conf` among them."""
        self.base = f"http://127.0.0.1:{self.port}"
        self.home.chmod(0o755)
        for name, content in files.items():
            (self.home / name).parent.mkdir(exist_ok=True)
            (self.home / name).write_bytes(content)
        self.process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.home, "-c",
                                         self.home / "nginx.conf", *options])
        atexit.register(self.process.terminate)
        wait_for(self.port)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.home)


class Proxy(Nginx):
    """The proxy of deploy/nginx in front of a service. It listens on another port, and everything else is unchanged."""

    def __init__(self, certificate, service):
        self.home = Path(tempfile.mkdtemp(prefix="assent-proxy.", dir="/var/tmp"))
        self.port = free_port()
        shipped = ROOT / "deploy/nginx"
        listen = (shipped / "tls.conf").read_text()
        self.start({
            "nginx.conf": (shipped / "nginx.conf").read_bytes(),
            "nodes.conf": f"server 127.0.0.1:{service.port} max_fails=3 fail_timeout=1s;\n".encode(),
            "listen.conf": listen.replace("listen 8080;", "").replace("8443", f"127.0.0.1:{self.port}").encode(),
            "certificates/fullchain.pem": certificate["hooks.crt"],
            "certificates/privkey.pem": certificate["hooks.key"],
            "authority.crt": certificate["authority.crt"],
        }, "-g", "daemon off;")
