//! A real nginx with the files of `deploy/nginx/`, before nodes of the test.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::Certificate;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::ports::free_port;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/nginx");

/// A running proxy; it ends with the test.
pub struct Proxy {
    pub plain: SocketAddr,
    pub tls: SocketAddr,
    nginx: Child,
    _folder: TempDir,
}

impl Proxy {
    /// Without TLS.
    pub async fn before(nodes: &[SocketAddr]) -> Self {
        Self::start(nodes, "plain.conf", "", None).await
    }

    /// Like [`Proxy::before`], behind a load balancer that sends the client's address in
    /// `X-Forwarded-For`.
    pub async fn behind_a_balancer(nodes: &[SocketAddr]) -> Self {
        let balancer = "set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For;";
        Self::start(nodes, "plain.conf", balancer, None).await
    }

    /// With TLS, and the authority that a client has to trust.
    pub async fn with_tls_before(nodes: &[SocketAddr]) -> (Self, Certificate) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let authority = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
        let pair = (made.cert.pem(), made.signing_key.serialize_pem());
        (Self::start(nodes, "tls.conf", "", Some(pair)).await, authority)
    }

    async fn start(
        nodes: &[SocketAddr],
        listen: &str,
        more: &str,
        certificate: Option<(String, String)>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The proxy's workers are an unprivileged user, who must reach its temporary files.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let conf = folder.path().join("conf");
        fs::create_dir(&conf).unwrap();
        let (plain, tls) = (free_address(), free_address());
        let listen = shipped(listen)
            .replace("listen 8080;", &format!("listen {plain};"))
            .replace("listen 8443 ", &format!("listen {tls} "));
        fs::write(conf.join("nginx.conf"), shipped("nginx.conf")).unwrap();
        fs::write(conf.join("listen.conf"), listen + more).unwrap();
        fs::write(conf.join("nodes.conf"), node_lines(nodes)).unwrap();
        if let Some((chain, key)) = certificate {
            fs::create_dir(conf.join("certificates")).unwrap();
            fs::write(conf.join("certificates/fullchain.pem"), chain).unwrap();
            fs::write(conf.join("certificates/privkey.pem"), key).unwrap();
        }
        let nginx = Command::new("nginx")
            .args(["-e", "stderr", "-g", "daemon off;", "-p"])
            .arg(folder.path())
            .arg("-c")
            .arg(conf.join("nginx.conf"))
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is installed");
        let started = Self { plain, tls, nginx, _folder: folder };
        started.listens().await;
        started
    }

    async fn listens(&self) {
        let began = Instant::now();
        while TcpStream::connect(self.plain).await.is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "nginx does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.plain)
    }

    /// The ids of the processes that handle requests.
    pub fn workers(&self) -> Vec<u32> {
        let id = self.nginx.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        children.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    /// A connection of a client that speaks for itself.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.plain).await.unwrap()
    }
}

impl Drop for Proxy {
    /// In order: killed, it would leave its workers behind.
    fn drop(&mut self) {
        let id = i32::try_from(self.nginx.id()).expect("process ids are small");
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        let _ = self.nginx.wait();
    }
}

pub fn shipped(name: &str) -> String {
    fs::read_to_string(format!("{SHIPPED}/{name}")).unwrap()
}

/// The shipped lines, with the test's addresses in place of compose's.
fn node_lines(nodes: &[SocketAddr]) -> String {
    let shipped = shipped("nodes.conf");
    let line = shipped.lines().find(|line| line.starts_with("server ")).expect("a node");
    let parameters = line.splitn(3, ' ').nth(2).expect("a node's parameters");
    nodes.iter().map(|node| format!("server {node} {parameters}\n")).collect()
}

/// A port that nobody listens on just now.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

/// A client that neither follows redirects nor repeats requests, for plain HTTP.
pub fn client() -> reqwest::Client {
    client_with(|builder| builder.tls_certs_only(std::iter::empty()))
}

pub fn client_with(
    also: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .timeout(Duration::from_secs(30));
    also(builder).build().unwrap()
}
