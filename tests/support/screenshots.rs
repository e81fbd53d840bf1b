//! Screenshots of popups, stored without a browser.

use assent::types::ids::uuid_v7;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::App;

/// A stored picture.
pub struct Stored {
    pub id: Uuid,
    pub png: Vec<u8>,
}

impl Stored {
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.png))
    }
}

impl App {
    /// Stores a picture of a popup as a node with a browser does: version, language and device. The popup got
    /// its form now.
    pub async fn store_picture(
        &self,
        pixel_id: &str,
        (version, language, device): (i32, &str, &str),
    ) -> Stored {
        let now = self.clock.now();
        let text = format!("{pixel_id} {version} {language} {device} {now}");
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), text.as_bytes()].concat();
        let stored = Stored { id: uuid_v7(now), png };
        let sha256 = Sha256::digest(&stored.png).to_vec();
        sqlx::query(
            "INSERT INTO popup_screenshots (pixel_id, screenshot_id, policy_version, policy_hash,
                 notice, language, device, configured_at, taken_at, sha256, png)
             VALUES ($1, $2, $3, repeat('ab', 32), $4, $5, $6, $7, $7, $4, $8)",
        )
        .bind(pixel_id)
        .bind(stored.id)
        .bind(version)
        .bind(&sha256)
        .bind(language)
        .bind(device)
        .bind(now)
        .bind(&stored.png)
        .execute(&self.pool)
        .await
        .unwrap();
        sqlx::query(
            "INSERT INTO publications (kind, sha256, published_at) VALUES ('screenshot', $1, $2)",
        )
        .bind(&sha256)
        .bind(now)
        .execute(&self.pool)
        .await
        .unwrap();
        stored
    }
}
