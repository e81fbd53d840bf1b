//! An authority that stamps times (RFC 3161): openssl makes its certificates and its answers.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How the authority answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// Takes the question and hangs up.
    Away,
    /// Takes the question and says nothing.
    Silent,
    Failing,
    /// A page where a reply should be.
    Page,
    Garbage,
    OtherType,
    /// The answer to another question about the same text.
    OtherNonce,
    /// The answer to a question about another text.
    OtherText,
    Refusing,
    /// Five megabytes.
    Huge,
}

#[derive(Clone)]
pub struct Authority {
    folder: Arc<tempfile::TempDir>,
    mood: Arc<Mutex<Mood>>,
    asked: Arc<AtomicUsize>,
    pub url: String,
}

const SETTINGS: &str = "
[req]
distinguished_name = name
prompt = no
x509_extensions = root
[name]
CN = Test Root
[root]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[stamper]
basicConstraints = CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[authority]
serial = serial
signer_cert = stamper.pem
certs = root.pem
signer_key = stamper.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = yes
";

impl Authority {
    pub async fn start() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("settings"), SETTINGS).unwrap();
        std::fs::write(folder.path().join("serial"), "01\n").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/stamp", listener.local_addr().unwrap());
        let (mood, asked) = (Arc::new(Mutex::new(Mood::Well)), Arc::default());
        let authority = Self { folder, mood, asked, url };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -config settings";
        for command in [
            &format!("req -x509 {key} -keyout root.key -out root.pem -days 3650"),
            &format!("req {key} -keyout stamper.key -out stamper.csr -subj /CN=Stamper"),
            "x509 -req -in stamper.csr -CA root.pem -CAkey root.key -set_serial 7 -days 3650 \
             -extfile settings -extensions stamper -out stamper.pem",
        ] {
            let output = authority.openssl(command);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let served = authority.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        authority
    }

    pub fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub fn root_certificate(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// Runs openssl in the authority's folder.
    fn openssl(&self, arguments: &str) -> Output {
        Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .expect("openssl is there")
    }

    /// Answers a question as a real authority does.
    fn reply(&self, question: &[u8]) -> Vec<u8> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _serial = ONE_AT_A_TIME.lock().unwrap();
        std::fs::write(self.folder.path().join("question"), question).unwrap();
        let command =
            "ts -reply -config settings -section authority -queryfile question -out reply";
        let output = self.openssl(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(self.folder.path().join("reply")).unwrap()
    }

    /// A genuine token over another text, without the answer around it.
    pub fn token_of(&self, text: &str) -> Vec<u8> {
        std::fs::write(self.folder.path().join("text"), text).unwrap();
        let output = self.openssl("ts -query -data text -sha256 -cert -out other");
        assert!(output.status.success());
        self.reply(&std::fs::read(self.folder.path().join("other")).unwrap());
        let output = self.openssl("ts -reply -in reply -token_out -out token");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(self.folder.path().join("token")).unwrap()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(question) = read_question(&mut stream).await else { return };
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Away => return,
            Mood::Silent => return self.while_silent().await,
            _ => {}
        }
        let (status, kind, body) = self.answer(mood, question).await;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    }

    /// Until it is in another mood; then it hangs up.
    async fn while_silent(&self) {
        while *self.mood.lock().unwrap() == Mood::Silent {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn answer(self, mood: Mood, question: Vec<u8>) -> (u16, &'static str, Vec<u8>) {
        const REPLY: &str = "application/timestamp-reply";
        let reply = move |question: Vec<u8>| {
            let authority = self.clone();
            tokio::task::spawn_blocking(move || authority.reply(&question))
        };
        let changed = |index: usize| {
            let mut changed = question.clone();
            changed[index] ^= 1;
            changed
        };
        match mood {
            Mood::Failing => (500, REPLY, Vec::new()),
            Mood::Page => (200, "text/html", b"<h1>Maintenance</h1>".to_vec()),
            Mood::Garbage => (200, REPLY, vec![0x30; 400]),
            Mood::Huge => (200, REPLY, vec![0x30; 5 << 20]),
            Mood::OtherType => (200, "application/octet-stream", reply(question).await.unwrap()),
            // A status of 2, and why: such requests are not supported.
            Mood::Refusing => (200, REPLY, hex::decode("3009300702010203020780").unwrap()),
            // The hash begins after 24 bytes, the nonce is before the last three.
            Mood::OtherText => (200, REPLY, reply(changed(30)).await.unwrap()),
            Mood::OtherNonce => (200, REPLY, reply(changed(question.len() - 4)).await.unwrap()),
            Mood::Well | Mood::Away | Mood::Silent => (200, REPLY, reply(question).await.unwrap()),
        }
    }
}

/// The body of a request of the right kind.
async fn read_question(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    loop {
        let mut chunk = [0; 1024];
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&chunk[..count]);
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
        assert!(head.starts_with("post /stamp http/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/timestamp-query"), "{head}");
        let length =
            head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
        if read.len() - end - 4 >= length {
            return Some(read[end + 4..].to_vec());
        }
    }
}
