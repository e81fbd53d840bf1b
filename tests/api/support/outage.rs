//! A database that can go away and come back.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A way to a database that the test can cut.
pub struct Road {
    /// The database's address by this way.
    pub url: String,
    is_open: watch::Sender<bool>,
    is_deaf: Arc<AtomicBool>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Where the road leads.
#[derive(Clone)]
enum Target {
    Socket(PathBuf),
    Address(String, u16),
}

impl Target {
    fn of(url: &str) -> Self {
        let options = url.parse::<PgConnectOptions>().expect("an address");
        match options.get_socket() {
            Some(folder) => Self::Socket(folder.join(format!(".s.PGSQL.{}", options.get_port()))),
            None => Self::Address(options.get_host().to_owned(), options.get_port()),
        }
    }

    async fn connect(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Socket(path) => Box::new(UnixStream::connect(path).await?),
            Self::Address(host, port) => {
                Box::new(TcpStream::connect((host.as_str(), *port)).await?)
            }
        })
    }
}

impl Road {
    /// A new way to the database of `url`, open at first.
    pub async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (is_open, opened) = watch::channel(true);
        let is_deaf = Arc::new(AtomicBool::new(false));
        tokio::spawn(carry(listener, Target::of(url), opened, Arc::clone(&is_deaf)));
        Self { url: detour(url, port), is_open, is_deaf }
    }

    /// From now on connections that `LISTEN` get nothing from the database any more, and are not
    /// told: as when a network loses their packets.
    pub fn deafen(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    /// Ends all connections, and every new one at once.
    pub fn cut(&self) {
        self.is_open.send_replace(false);
    }

    pub fn mend(&self) {
        self.is_open.send_replace(true);
    }
}

fn detour(url: &str, port: u16) -> String {
    let mut url = url::Url::parse(url).expect("an address");
    let kept = url.query_pairs().filter(|(name, _)| name != "host" && name != "port");
    let kept = kept.map(|(name, value)| (name.into_owned(), value.into_owned()));
    let kept = kept.collect::<Vec<_>>();
    url.query_pairs_mut().clear().extend_pairs(kept);
    url.set_host(Some("127.0.0.1")).expect("a host");
    url.set_port(Some(port)).expect("a port");
    url.into()
}

async fn carry(
    listener: TcpListener,
    target: Target,
    opened: watch::Receiver<bool>,
    is_deaf: Arc<AtomicBool>,
) {
    while let Ok((here, _)) = listener.accept().await {
        let (target, mut opened, is_deaf) = (target.clone(), opened.clone(), is_deaf.clone());
        tokio::spawn(async move {
            if !*opened.borrow_and_update() {
                return;
            }
            let Ok(there) = target.connect().await else { return };
            let ((from_here, to_here), (from_there, to_there)) = (split(here), split(there));
            let listens = AtomicBool::new(false);
            let is_open = opened.clone();
            tokio::select! {
                () = pass(from_here, to_there, |asked| {
                    // What is asked after the cut never arrives, however late the cut is noticed.
                    if !*is_open.borrow() {
                        return false;
                    }
                    if asked.windows(6).any(|word| word == b"LISTEN") {
                        listens.store(true, Ordering::SeqCst);
                    }
                    true
                }) => {}
                () = pass(from_there, to_here, |_| {
                    !(is_deaf.load(Ordering::SeqCst) && listens.load(Ordering::SeqCst))
                }) => {}
                _ = opened.changed() => {}
            }
        });
    }
}

/// Passes on what arrives and may pass, until one end is closed.
async fn pass<R: AsyncRead, W: AsyncWrite>(
    mut from: ReadHalf<R>,
    mut to: WriteHalf<W>,
    may_pass: impl Fn(&[u8]) -> bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        if may_pass(&bytes[..length]) && to.write_all(&bytes[..length]).await.is_err() {
            break;
        }
    }
}
