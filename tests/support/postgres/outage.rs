//! A database that can go away and come back.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A way to a database that the test can cut, hold up and lose.
pub struct Road {
    /// The database's address by this way.
    pub url: String,
    state: watch::Sender<State>,
    /// How often connections were ended, and how often lost.
    cuts: watch::Sender<usize>,
    losses: watch::Sender<usize>,
    is_deaf: Arc<AtomicBool>,
    target: Arc<Mutex<Target>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Cut,
    /// Everything waits, and arrives later.
    Stalled,
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
        let (state, cuts) = (watch::Sender::new(State::Open), watch::Sender::new(0));
        let (losses, is_deaf) = (watch::Sender::new(0), Arc::new(AtomicBool::new(false)));
        let target = Arc::new(Mutex::new(Target::of(url)));
        let way = Way {
            target: Arc::clone(&target),
            state: state.subscribe(),
            cuts: cuts.subscribe(),
            losses: losses.subscribe(),
            is_deaf: Arc::clone(&is_deaf),
        };
        tokio::spawn(carry(listener, way));
        Self { url: detour(url, port), state, cuts, losses, is_deaf, target }
    }

    /// From now on connections that `LISTEN` get nothing from the database any more, and are not
    /// told: as when a network loses their packets.
    pub fn deafen(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    /// Ends all connections, and every new one at once.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Holds everything up, in both directions and on new connections too, until it is mended. What
    /// was sent meanwhile then arrives, even if its sender has gone.
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Directs new connections to another server; existing ones stay open.
    pub fn lead_to(&self, url: &str) {
        *self.target.lock().unwrap() = Target::of(url);
    }

    /// The connections that there are lose all that is sent on them from now on, and neither end is
    /// told. New ones are well.
    pub fn lose(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }

    pub fn mend(&self) {
        self.state.send_replace(State::Open);
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

/// The shared state of a connection through the road.
#[derive(Clone)]
struct Way {
    target: Arc<Mutex<Target>>,
    state: watch::Receiver<State>,
    cuts: watch::Receiver<usize>,
    losses: watch::Receiver<usize>,
    is_deaf: Arc<AtomicBool>,
}

impl Way {
    /// Whether something that has come may pass on, as soon as anything does. Waits while all is
    /// held up.
    async fn lets_pass(&self) -> bool {
        let mut state = self.state.clone();
        let now = state.wait_for(|state| *state != State::Stalled).await.map(|state| *state);
        // Requests after the cut never arrive, however late the cut is noticed.
        now.is_ok_and(|now| now == State::Open) && !self.losses.has_changed().unwrap_or(true)
    }
}

async fn carry(listener: TcpListener, way: Way) {
    while let Ok((here, _)) = listener.accept().await {
        let mut way = way.clone();
        way.cuts.borrow_and_update();
        way.losses.borrow_and_update();
        tokio::spawn(async move {
            if !way.lets_pass().await {
                return;
            }
            let target = way.target.lock().unwrap().clone();
            let Ok(there) = target.connect().await else { return };
            let ((from_here, to_here), (from_there, to_there)) = (split(here), split(there));
            let listens = AtomicBool::new(false);
            let mut cuts = way.cuts.clone();
            tokio::select! {
                () = pass(from_here, to_there, &way, |asked| {
                    if asked.windows(6).any(|word| word == b"LISTEN") {
                        listens.store(true, Ordering::SeqCst);
                    }
                    true
                }) => {}
                () = pass(from_there, to_here, &way, |_| {
                    !(way.is_deaf.load(Ordering::SeqCst) && listens.load(Ordering::SeqCst))
                }) => {}
                _ = cuts.changed() => {}
            }
        });
    }
}

/// Passes on what arrives and may pass, until one end is closed.
async fn pass<R: AsyncRead, W: AsyncWrite>(
    mut from: ReadHalf<R>,
    mut to: WriteHalf<W>,
    way: &Way,
    may_pass: impl Fn(&[u8]) -> bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let passes = may_pass(&bytes[..length]) && way.lets_pass().await;
        if passes && to.write_all(&bytes[..length]).await.is_err() {
            break;
        }
    }
}
