//! A prebuilt script in gzip and brotli, with a shared prefix.

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bundles::Configured;
use crate::infra::compression::{
    AcceptedEncodings, Encoding, TwoParts, brotli_in_two, gunzip, gzip_in_two,
};

/// The compressed prefixes of scripts. Scripts of a kind differ only in their configuration at the
/// end, so the prefix is kept once per kind.
#[derive(Default)]
pub(super) struct SharedPrefixes(Mutex<HashSet<Arc<[u8]>>>);

impl SharedPrefixes {
    fn kept(&self, bytes: Vec<u8>) -> Arc<[u8]> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&bytes[..]) {
            return Arc::clone(known);
        }
        let bytes = Arc::from(bytes);
        all.insert(Arc::clone(&bytes));
        bytes
    }

    fn form(&self, TwoParts { head, rest }: TwoParts) -> Form {
        Form { head: self.kept(head), rest: rest.into() }
    }
}

#[derive(Clone)]
pub struct Form {
    pub(super) head: Arc<[u8]>,
    pub(super) rest: Arc<[u8]>,
}

impl Form {
    pub fn pieces(&self) -> [&[u8]; 2] {
        [&self.head, &self.rest]
    }
}

/// A prebuilt script. Its plain text, which few request, is decompressed from the gzip.
pub struct Prebuilt {
    program: &'static str,
    pub(super) gzip: Form,
    pub(super) brotli: OnceLock<Form>,
    pub(super) is_queued: AtomicBool,
}

impl Prebuilt {
    pub(super) fn new(script: &Configured, prefixes: &SharedPrefixes) -> io::Result<Self> {
        let gzip = gzip_in_two(script.program.as_bytes(), script.rest.as_bytes())?;
        Ok(Self {
            program: script.program,
            gzip: prefixes.form(gzip),
            brotli: OnceLock::new(),
            is_queued: AtomicBool::new(false),
        })
    }

    /// Adds the brotli form; takes some tens of milliseconds.
    pub(super) fn compress(&self, prefixes: &SharedPrefixes) -> io::Result<()> {
        let plain = self.plain()?;
        let (program, rest) = plain.split_at(self.program.len());
        let _ = self.brotli.set(prefixes.form(brotli_in_two(program, rest)?));
        Ok(())
    }

    pub fn plain(&self) -> io::Result<Vec<u8>> {
        let [head, rest] = self.gzip.pieces();
        gunzip(head.chain(rest))
    }

    /// The best available form that the client accepts; `None` for the plain text.
    pub fn best(&self, accept_encoding: Option<&str>) -> Option<(Encoding, &Form)> {
        let brotli = self.brotli.get();
        let ready = brotli.map(|_| Encoding::Brotli).into_iter().chain([Encoding::Gzip]);
        let best = AcceptedEncodings::of(accept_encoding).best(ready)?;
        let form = match best {
            Encoding::Brotli => brotli?,
            Encoding::Gzip => &self.gzip,
        };
        Some((best, form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(rest: &str) -> Configured {
        let program = "var a=1,b=a+2,c=a*b;function d(e){return e*c}";
        Configured { program, rest: rest.to_owned() }
    }

    #[test]
    fn what_scripts_have_in_common_is_kept_once_and_each_is_still_itself() {
        let prefixes = SharedPrefixes::default();
        let rests = ["", "d(1)", "d(2)"];
        let scripts = rests.map(|rest| Prebuilt::new(&configured(rest), &prefixes).unwrap());
        for (script, rest) in scripts.iter().zip(rests) {
            script.compress(&prefixes).unwrap();
            assert_eq!(script.plain().unwrap(), configured(rest).text().into_bytes());
            let (_, brotli) = script.best(Some("br")).unwrap();
            let mut plain = Vec::new();
            brotli::BrotliDecompress(&mut &brotli.pieces().concat()[..], &mut plain).unwrap();
            assert_eq!(plain, configured(rest).text().into_bytes());
        }
        assert_eq!(prefixes.0.lock().unwrap().len(), 2);
    }

    #[test]
    fn the_smallest_accepted_form_is_served_once_it_is_ready() {
        let prefixes = SharedPrefixes::default();
        let script = Prebuilt::new(&configured("a"), &prefixes).unwrap();
        let served = |accepted| script.best(accepted).map(|(encoding, _)| encoding);
        assert_eq!(served(Some("br, gzip")), Some(Encoding::Gzip));
        assert_eq!(served(Some("br")), None);
        script.compress(&prefixes).unwrap();
        assert_eq!(served(Some("gzip, deflate, br")), Some(Encoding::Brotli));
        assert_eq!(served(Some("br;q=0, gzip")), Some(Encoding::Gzip));
        assert_eq!(served(None), None);
    }
}
