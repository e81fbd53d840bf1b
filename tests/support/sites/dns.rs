//! A DNS server for TXT records, over TCP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A running server; names without records do not exist.
pub struct DnsServer {
    pub address: SocketAddr,
    records: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

impl DnsServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), records: Arc::default() };
        let records = Arc::clone(&server.records);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let records = Arc::clone(&records);
                // A client that hangs up is no failure of the test.
                tokio::spawn(async move { serve(stream, &records).await });
            }
        });
        server
    }

    /// Adds a TXT record.
    pub fn add(&self, name: &str, text: &str) {
        self.records.lock().unwrap().entry(name.to_owned()).or_default().push(text.to_owned());
    }

    /// Removes all records of a name.
    pub fn clear(&self, name: &str) {
        self.records.lock().unwrap().remove(name);
    }
}

async fn serve(
    mut stream: TcpStream,
    records: &Mutex<HashMap<String, Vec<String>>>,
) -> std::io::Result<()> {
    let mut question = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut question).await?;
    let texts = records.lock().unwrap().get(&name_of(&question)).cloned();
    let mut answer = question.clone();
    answer[2] |= 0x80;
    answer[3] = if texts.is_some() { 0x80 } else { 0x83 };
    let texts = texts.unwrap_or_default();
    answer[7] = u8::try_from(texts.len()).unwrap();
    for text in texts {
        // Long texts come in parts.
        let parts = text
            .as_bytes()
            .chunks(20)
            .flat_map(|part| [&[u8::try_from(part.len()).unwrap()][..], part].concat());
        let data = parts.collect::<Vec<_>>();
        answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
        answer.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        answer.extend(data);
    }
    stream.write_u16(u16::try_from(answer.len()).unwrap()).await?;
    stream.write_all(&answer).await
}

fn name_of(question: &[u8]) -> String {
    let mut labels = Vec::new();
    let mut rest = &question[12..];
    while rest[0] > 0 {
        let (label, others) = rest[1..].split_at(usize::from(rest[0]));
        labels.push(String::from_utf8_lossy(label).into_owned());
        rest = others;
    }
    labels.join(".")
}
