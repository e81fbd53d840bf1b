//! An authenticator in software: it makes passkeys, and signs challenges with them.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::console::Browser;
use super::server::Answer;

const ACCOUNT: &str = "/console/account";
pub const ADD: &str = "/console/account/passkeys";
pub const SIGN_IN: &str = "/console/sign-in/passkey";

/// The user is present and verified.
pub const VERIFIED: u8 = 0x05;
pub const PRESENT: u8 = 0x01;
const HAS_CREDENTIAL: u8 = 0x40;
/// A SubjectPublicKeyInfo up to the point on P-256.
const SPKI: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

pub type Fields = Vec<(&'static str, String)>;

fn encoded(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// What an authenticator and a browser state, and what tests falsify.
#[derive(Clone)]
pub struct Stated {
    pub origin: String,
    pub party: String,
    pub kind: &'static str,
    pub flags: u8,
    pub count: u32,
}

impl Stated {
    pub fn by(browser: &Browser<'_>, kind: &'static str) -> Self {
        let origin = browser.app.base.clone();
        let url = url::Url::parse(&origin).expect("an address");
        let party = url.host_str().expect("a host").to_owned();
        Self { origin, party, kind, flags: VERIFIED, count: 0 }
    }

    fn client_data(&self, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": self.kind,
            "challenge": options["challenge"],
            "origin": self.origin,
            "crossOrigin": false,
        });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let party = Sha256::digest(&self.party).to_vec();
        [&*party, &[flags], &self.count.to_be_bytes()].concat()
    }
}

pub struct Passkey {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    user_handle: String,
}

impl Passkey {
    /// Makes a passkey for the options, and the fields of the form that adds it.
    pub fn create(options: &Value, stated: &Stated) -> (Self, Fields) {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        let id = Sha256::digest(key.public_key().as_ref()).to_vec();
        let length = u16::try_from(id.len()).expect("a short id").to_be_bytes();
        let data = stated.authenticator_data(stated.flags | HAS_CREDENTIAL);
        let data = [&*data, &[0; 16], &length, &id].concat();
        let spki = [&*hex::decode(SPKI).expect("hex"), key.public_key().as_ref()].concat();
        let fields = vec![
            ("client_data", encoded(&stated.client_data(options))),
            ("authenticator_data", encoded(&data)),
            ("public_key", encoded(&spki)),
        ];
        let user_handle = options["user"]["id"].as_str().expect("a user").to_owned();
        (Self { key, id, user_handle }, fields)
    }

    /// Signs the challenge of the options: the fields of the form that signs in.
    pub fn answer(&self, options: &Value, stated: &Stated) -> Fields {
        let (client, data) = (stated.client_data(options), stated.authenticator_data(stated.flags));
        let message = [&*data, &Sha256::digest(&client)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).expect("a signature");
        vec![
            ("credential_id", encoded(&self.id)),
            ("client_data", encoded(&client)),
            ("authenticator_data", encoded(&data)),
            ("signature", encoded(signature.as_ref())),
            ("user_handle", self.user_handle.clone()),
        ]
    }
}

impl Browser<'_> {
    pub async fn passkey_options(&mut self) -> Value {
        let answer = self.post(&format!("{SIGN_IN}/options"), &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        serde_json::from_str(&answer.text).expect("JSON")
    }

    pub async fn new_passkey_options(&mut self) -> Value {
        let answer = self.submit(ACCOUNT, &format!("{ADD}/options"), &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        serde_json::from_str(&answer.text).expect("JSON")
    }

    pub async fn send_new_passkey(&mut self, fields: &Fields) -> Answer {
        let fields = fields.iter().map(|(name, value)| (*name, &**value)).collect::<Vec<_>>();
        self.submit(ACCOUNT, ADD, &fields).await
    }

    pub async fn add_passkey(&mut self) -> Passkey {
        let options = self.new_passkey_options().await;
        let stated = Stated::by(self, "webauthn.create");
        let (passkey, fields) = Passkey::create(&options, &stated);
        let added = self.send_new_passkey(&fields).await;
        super::console::leads_to(&added, "/console/account?done=passkey-added");
        passkey
    }

    pub async fn send_answer(&mut self, fields: &Fields) -> Answer {
        let fields = fields.iter().map(|(name, value)| (*name, &**value)).collect::<Vec<_>>();
        self.post(SIGN_IN, &fields).await
    }

    /// Signs in with a passkey that counts.
    pub async fn sign_in_with(&mut self, passkey: &Passkey, count: u32) -> Answer {
        let options = self.passkey_options().await;
        let stated = Stated { count, ..Stated::by(self, "webauthn.get") };
        self.send_answer(&passkey.answer(&options, &stated)).await
    }
}
