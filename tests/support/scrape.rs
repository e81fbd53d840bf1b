//! The metrics as Prometheus reads them.

use std::time::Duration;

use super::process::Process;
use super::server::{Answer, App, client};

/// One answer of `/metrics`.
pub struct Scrape {
    pub text: String,
    samples: Vec<Sample>,
}

struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    /// `name{label="value",…} 1.0`
    fn parse(line: &str) -> Self {
        let (head, value) = line.rsplit_once(' ').expect("a sample has a value");
        let (name, labels) = head.split_once('{').unwrap_or((head, ""));
        let labels = labels.trim_end_matches('}').split("\",").filter_map(|label| {
            let (name, value) = label.split_once("=\"")?;
            Some((name.to_owned(), value.trim_end_matches('"').to_owned()))
        });
        Self {
            name: name.to_owned(),
            labels: labels.collect(),
            value: value.parse().unwrap_or_else(|_| panic!("no number: {line}")),
        }
    }

    fn has(&self, label: &(&str, &str)) -> bool {
        self.labels.iter().any(|(name, value)| (name.as_str(), value.as_str()) == *label)
    }
}

impl Scrape {
    pub async fn of(url: &str) -> Self {
        let answer = Answer::of(client().get(url)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let kind = answer.header("content-type").expect("a type");
        assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
        Self::parse(answer.text)
    }

    fn parse(text: String) -> Self {
        assert!(text.ends_with("# EOF\n"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.map(Sample::parse).collect();
        Self { text, samples }
    }

    /// The sum of a metric's samples that have all these labels; `None` when there is none.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits =
            |sample: &&Sample| sample.name == name && labels.iter().all(|label| sample.has(label));
        let found = self.samples.iter().filter(fits).map(|sample| sample.value);
        found.reduce(|sum, value| sum + value)
    }

    pub fn has_label(&self, name: &str, label: &str) -> bool {
        let mut samples = self.samples.iter().filter(|sample| sample.name == name);
        samples.any(|sample| sample.labels.iter().any(|(known, _)| known == label))
    }

    /// The names of all samples.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.samples.iter().map(|sample| sample.name.as_str())
    }

    /// All values of a label, in whatever metric.
    pub fn label_values<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a str> {
        let labels = self.samples.iter().flat_map(|sample| &sample.labels);
        labels.filter(move |(name, _)| name == label).map(|(_, value)| value.as_str())
    }
}

impl App {
    /// Number of lookups of the node in one of its caches, by result: `hit` or `miss`.
    pub fn lookups(&self, cache: &str, result: &str) -> f64 {
        let scrape = Scrape::parse(self.metrics.scrape().unwrap());
        let labels = [("cache", cache), ("result", result)];
        scrape.value("assent_cache_requests_total", &labels).unwrap_or_default()
    }

    /// Number of receipts that wait for the node's writers.
    pub fn receipts_that_wait(&self) -> usize {
        let scrape = Scrape::parse(self.metrics.scrape().unwrap());
        scrape.value("assent_receipts_queued", &[]).unwrap_or_default() as usize
    }

    /// Waits until the node hears of the others' changes, a moment after it has started: then it drops
    /// what it has kept until now.
    pub async fn listens(&self) {
        for _ in 0..1_500 {
            let scrape = Scrape::parse(self.metrics.scrape().unwrap());
            if scrape.value("assent_changes_listening", &[]) == Some(1.0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not begin to listen");
    }
}

impl Process {
    /// The address of its metrics, as its welcome says; started with `METRICS_ADDRESS`.
    pub async fn metrics_url(&self) -> String {
        for _ in 0..1_500 {
            let log = self.log();
            let url = log.lines().find_map(|line| line.trim().strip_prefix("metrics "));
            if let Some(url) = url {
                return url.trim().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the welcome names no metrics: {}", self.log());
    }

    pub async fn scrape(&self) -> Scrape {
        Scrape::of(&self.metrics_url().await).await
    }
}
