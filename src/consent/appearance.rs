//! How the popup looks: free within what keeps it readable and the choice even.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{Error, Result};

/// WCAG 2.2, success criterion 1.4.3: text needs this contrast to its background.
const LEAST_CONTRAST: f64 = 4.5;
const MAX_RADIUS: u32 = 24;
const MAX_FONT: usize = 120;

/// Where the popup opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    Bottom,
    BottomLeft,
    BottomRight,
    Top,
    Center,
}

/// Where the small button sits that opens the choice again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Corner {
    BottomLeft,
    BottomRight,
    TopLeft,
    TopRight,
}

/// Colours as `#rrggbb`. All three answers share one button style, so that "accept" can never be
/// more prominent than "decline".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Palette {
    pub background: Rgb,
    pub text: Rgb,
    pub button: Rgb,
    pub button_text: Rgb,
    pub link: Rgb,
}

/// Palettes for the two colour schemes of browsers; either may be left to the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Colors {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light: Option<Palette>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Palette>,
}

/// The small button that opens the choice again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReopenButton {
    /// True when omitted.
    #[serde(default = "shown")]
    pub show: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Corner>,
}

fn shown() -> bool {
    true
}

/// How the popup looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Appearance {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colors: Option<Colors>,
    /// Corner radius in CSS pixels, 0 to 24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 24))]
    #[schema(maximum = 24)]
    pub radius: Option<u32>,
    /// A CSS font family list of at most 120 letters, digits, spaces, commas, dashes and quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 120, example = "Inter, sans-serif")]
    pub font: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<ReopenButton>,
}

impl Appearance {
    /// Refuses what could not be read or could break out of a style sheet.
    pub fn check(&self) -> Result<()> {
        let font_fits = self.font.as_deref().is_none_or(is_font_list);
        if self.radius.is_some_and(|radius| radius > MAX_RADIUS) || !font_fits {
            return Err(Error::InvalidRequest);
        }
        let palettes = self.colors.iter().flat_map(|colors| [&colors.light, &colors.dark]);
        match palettes.flatten().all(Palette::is_readable) {
            true => Ok(()),
            false => Err(Error::ContrastTooLow),
        }
    }
}

/// Letters, digits, spaces, commas, dashes and quotes: enough for font names, too little for CSS.
fn is_font_list(font: &str) -> bool {
    let allowed = |character: char| character.is_alphanumeric() || " ,-'\"".contains(character);
    !font.trim().is_empty()
        && font.len() <= MAX_FONT
        && font.chars().all(allowed)
        && ['\'', '"'].iter().all(|&quote| font.matches(quote).count() % 2 == 0)
}

impl Palette {
    fn is_readable(&self) -> bool {
        let on_background = [self.text, self.link].map(|color| contrast(color, self.background));
        let on_button = contrast(self.button_text, self.button);
        on_background.iter().chain([&on_button]).all(|&ratio| ratio >= LEAST_CONTRAST)
    }
}

/// An sRGB colour, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, ToSchema)]
#[schema(value_type = String, pattern = "^#[0-9A-Fa-f]{6}$", example = "#1a2b3c")]
pub struct Rgb(#[schemars(with = "String", regex(pattern = "^#[0-9A-Fa-f]{6}$"))] [u8; 3]);

impl Serialize for Rgb {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("#{}", hex::encode(self.0)))
    }
}

impl<'de> Deserialize<'de> for Rgb {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let mut channels = [0; 3];
        text.strip_prefix('#')
            .and_then(|digits| hex::decode_to_slice(digits, &mut channels).ok())
            .ok_or_else(|| serde::de::Error::custom("a colour is written #rrggbb"))?;
        Ok(Self(channels))
    }
}

/// Contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio").
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// WCAG 2.2, "relative luminance".
fn luminance(Rgb(channels): Rgb) -> f64 {
    let [red, green, blue] = channels.map(|channel| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        let [black, white, grey] = [Rgb([0; 3]), Rgb([255; 3]), Rgb([0x77; 3])];
        assert!((contrast(black, white) - 21.0).abs() < 1e-9);
        assert!((contrast(grey, white) - 4.48).abs() < 0.01);
    }

    #[test]
    fn an_unreadable_palette_is_refused() {
        let palette = |text: &str| {
            let colors = json!({"background": "#ffffff", "text": text, "button": "#123456", "button_text": "#ffffff", "link": "#0000cc"});
            serde_json::from_value::<Appearance>(json!({"colors": {"light": colors}})).unwrap()
        };
        assert!(palette("#222222").check().is_ok());
        assert!(matches!(palette("#777777").check(), Err(Error::ContrastTooLow)));
    }

    #[test]
    fn a_font_cannot_break_out_of_the_style_sheet() {
        for (font, fits) in [
            ("Inter, 'Segoe UI', sans-serif", true),
            ("inherit", true),
            ("x;}*{display:none", false),
            ("'open", false),
            ("", false),
        ] {
            assert_eq!(is_font_list(font), fits, "{font}");
        }
    }
}
