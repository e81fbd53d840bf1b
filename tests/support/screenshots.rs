//! Screenshots of popups, stored without a browser.

use assent::types::ids::uuid_v7;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::App;

/// A stored picture.
pub struct Stored {
    pub id: Uuid,
    pub png: Vec<u8>,
    /// The text that lists the pictures of its form.
    pub list: String,
}

impl Stored {
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.png))
    }

    pub fn list_sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.list))
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
        let list = format!("assent/screenshots/v1\npixel {pixel_id}\nconfigured {now}\n");
        let text = format!("{pixel_id} {version} {language} {device} {now}");
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), text.as_bytes()].concat();
        let stored = Stored { id: uuid_v7(now), png, list };
        let sha256 = Sha256::digest(&stored.png).to_vec();
        sqlx::query(
            "UPDATE popup_forms SET replaced_at = $2
             WHERE pixel_id = $1 AND configured_at < $2 AND replaced_at IS NULL",
        )
        .bind(pixel_id)
        .bind(now)
        .execute(&self.pool)
        .await
        .unwrap();
        sqlx::query(
            "WITH published AS (
                 INSERT INTO publications (kind, sha256, published_at)
                 VALUES ('screenshots', sha256(convert_to($4, 'UTF8')), $2)
                 ON CONFLICT DO NOTHING)
             INSERT INTO popup_forms (pixel_id, configured_at, taken_at, policy_version,
                 policy_hash, script, list, list_sha256)
             VALUES ($1, $2, $2, $3, repeat('ab', 32), sha256('script'), $4,
                 sha256(convert_to($4, 'UTF8')))
             ON CONFLICT DO NOTHING",
        )
        .bind(pixel_id)
        .bind(now)
        .bind(version)
        .bind(&stored.list)
        .execute(&self.pool)
        .await
        .unwrap();
        sqlx::query(
            "WITH file AS (
                 INSERT INTO popup_screenshot_files (pixel_id, sha256, png) VALUES ($1, $6, $7))
             INSERT INTO popup_screenshots (pixel_id, configured_at, screenshot_id, notice, language,
                 device, sha256)
             VALUES ($1, $2, $3, $6, $4, $5, $6)",
        )
        .bind(pixel_id)
        .bind(now)
        .bind(stored.id)
        .bind(language)
        .bind(device)
        .bind(&sha256)
        .bind(&stored.png)
        .execute(&self.pool)
        .await
        .unwrap();
        stored
    }
}
