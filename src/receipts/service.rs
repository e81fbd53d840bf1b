use std::sync::Arc;

use super::check::latest_consent::ConsentReader;
use super::cluster::Cluster;
use super::record::recorder::Recorder;
use super::record::script_builds::ScriptBuilds;
use super::record::writing::Notifiers;
use super::storage::ReceiptStorage;
use crate::consent_receipt::notice_snapshot::Build;
use crate::consent_receipt::signing::ReceiptSigner;
use crate::infra::Infra;
use crate::infra::limits::per_pixel::PixelLimits;
use crate::policies::notice_digests::NoticeDigests;
use crate::policies::sites::SiteCache;
use crate::proof::log::Log;

/// Sites and their policies, the signer, and the queues to the table of receipts.
#[derive(Clone)]
pub struct Receipts {
    pub infra: Infra,
    pub sites: SiteCache,
    pub signer: ReceiptSigner,
    pub recorder: Recorder,
    pub reader: ConsentReader,
    pub storage: Arc<dyn ReceiptStorage>,
    pub limits: Arc<PixelLimits>,
    pub notices: NoticeDigests,
    pub builds: ScriptBuilds,
    pub log: Log,
}

impl Receipts {
    /// `tag` is the build of the consent tag that this node serves. Must be called inside a Tokio
    /// runtime.
    pub fn start(infra: Infra, sites: SiteCache, tag: Build, log: Log) -> Self {
        let metrics = &infra.metrics.receipts;
        let notifiers = Notifiers {
            refused: infra.consent_changes.clone(),
            events: infra.events.written.clone(),
        };
        let storage: Arc<dyn ReceiptStorage> =
            Arc::new(Cluster::new(&infra.database, metrics.clone(), notifiers));
        Self {
            signer: ReceiptSigner::new(&infra.config.receipt_secrets),
            recorder: Recorder::start(&infra.database, metrics.clone(), storage.clone()),
            reader: ConsentReader::start(&infra.database, &storage),
            storage,
            limits: Arc::new(PixelLimits::new(infra.clock.clone(), infra.config.rate_limits)),
            notices: NoticeDigests::new(infra.clone()),
            builds: ScriptBuilds::new(infra.clone(), tag),
            log,
            sites,
            infra,
        }
    }

    /// Whether receipts can be written and read now, by the same paths as visitors' choices.
    pub async fn are_in_reach(&self) -> bool {
        let probes = tokio::join!(self.recorder.probe(), self.reader.probe());
        matches!(probes, (Ok(()), Ok(())))
    }
}
