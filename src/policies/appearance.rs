//! The appearance of the popup. The limits keep it readable and all answers equally prominent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{BODY, Error, FieldError, Result, wrong_at};

/// WCAG 2.2, success criterion 1.4.3: the minimum contrast of text to its background.
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
    /// Refuses unreadable colours and values that could break out of a style sheet.
    pub fn check(&self) -> Result<()> {
        if self.radius.is_some_and(|radius| radius > MAX_RADIUS) {
            return Err(wrong_at(
                &["appearance", "radius"],
                format!("must be at most {MAX_RADIUS}"),
            ));
        }
        if !self.font.as_deref().is_none_or(is_font_list) {
            let msg = format!(
                "must be a list of font names of at most {MAX_FONT} letters, digits, spaces, commas, dashes and quotes"
            );
            return Err(wrong_at(&["appearance", "font"], msg));
        }
        let colors = self.colors.iter();
        let schemes = colors.flat_map(|it| [("light", &it.light), ("dark", &it.dark)]);
        let faint = |(scheme, palette): (_, &Option<Palette>)| palette.as_ref()?.faint(scheme);
        match schemes.filter_map(faint).next() {
            None => Ok(()),
            Some(field) => Err(Error::ContrastTooLow.naming(vec![field])),
        }
    }
}

impl Appearance {
    /// CSS rules that follow the popup's own. `$` stands for the page's font, which only the script can
    /// determine; no font list contains it.
    pub fn css(&self) -> String {
        let palette = |scheme: fn(&Colors) -> Option<&Palette>| {
            self.colors.as_ref().and_then(scheme).map(Palette::css).unwrap_or_default()
        };
        let radius = self.radius.map(|radius| format!("--r:{radius}px;")).unwrap_or_default();
        let font = match self.font.as_deref() {
            None => String::new(),
            Some("inherit") => "font-family:$".to_owned(),
            Some(font) => format!("font-family:{font}"),
        };
        let always = palette(|colors| colors.light.as_ref()) + &radius + &font;
        let dark = palette(|colors| colors.dark.as_ref());
        let rule = |rules: &str, before: &str, after: &str| match rules {
            "" => String::new(),
            _ => format!("{before}.a{{{rules}}}{after}"),
        };
        rule(&always, "", "") + &rule(&dark, "@media(prefers-color-scheme:dark){", "}")
    }

    /// The corner of the small button; `None` when the site reopens the popup itself.
    pub fn corner(&self) -> Option<Corner> {
        match &self.button {
            Some(button) if !button.show => None,
            button => {
                Some(button.as_ref().and_then(|it| it.position).unwrap_or(Corner::BottomLeft))
            }
        }
    }
}

/// Allows letters, digits, spaces, commas, dashes and quotes: sufficient for font names, but not for other CSS.
fn is_font_list(font: &str) -> bool {
    let allowed = |character: char| character.is_alphanumeric() || " ,-'\"".contains(character);
    !font.trim().is_empty()
        && font.len() <= MAX_FONT
        && font.chars().all(allowed)
        && ['\'', '"'].iter().all(|&quote| font.matches(quote).count() % 2 == 0)
}

impl Palette {
    fn faint(&self, scheme: &str) -> Option<FieldError> {
        let pairs = [
            ("text", "the text on its background", self.text, self.background),
            ("link", "a link on the background", self.link, self.background),
            ("button_text", "the text on a button", self.button_text, self.button),
        ];
        let ratio = |&(.., color, behind): &(_, _, Rgb, Rgb)| contrast(color, behind);
        let faint = pairs.into_iter().find(|pair| ratio(pair) < LEAST_CONTRAST)?;
        let is = ratio(&faint);
        // Rounded down, so that a refused value never looks sufficient.
        let is = (is * 10.0).floor() / 10.0;
        let msg = format!(
            "in the {scheme} theme, {} has a contrast of {is:.1}:1; the minimum is 4.5:1",
            faint.1
        );
        let location = [BODY, "appearance", "colors", scheme, faint.0];
        Some(FieldError::new(&location, msg, "value_error"))
    }
}

impl Palette {
    /// The variables of the popup's style sheet (`scripts-src/shared/style.ts`).
    fn css(&self) -> String {
        let Self { background, text, button, button_text, link } = self;
        [("b", background), ("f", text), ("k", button), ("t", button_text), ("l", link)]
            .map(|(name, color)| format!("--{name}:{color};"))
            .concat()
    }
}

/// An sRGB colour, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, ToSchema)]
#[schema(value_type = String, pattern = "^#[0-9A-Fa-f]{6}$", example = "#1a2b3c")]
pub struct Rgb(#[schemars(with = "String", regex(pattern = "^#[0-9A-Fa-f]{6}$"))] [u8; 3]);

impl std::fmt::Display for Rgb {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "#{}", hex::encode(self.0))
    }
}

impl Serialize for Rgb {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
            .ok_or_else(|| serde::de::Error::custom("must be a colour, #rrggbb"))?;
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
        let Err(Error::Naming { refusal, fields }) = palette("#777777").check() else {
            panic!("grey on white is refused")
        };
        assert!(matches!(*refusal, Error::ContrastTooLow));
        assert_eq!(fields[0].loc, ["body", "appearance", "colors", "light", "text"]);
        let message = "in the light theme, the text on its background has a contrast of 4.4:1; the minimum is 4.5:1";
        assert_eq!(fields[0].msg, message);
    }

    #[test]
    fn an_appearance_becomes_rules_after_the_popups_own() {
        let css = |json| serde_json::from_value::<Appearance>(json).unwrap().css();
        let colors = json!({"background": "#FFFFFF", "text": "#000000", "button": "#123456", "button_text": "#ffffff", "link": "#0000cc"});
        let variables = "--b:#ffffff;--f:#000000;--k:#123456;--t:#ffffff;--l:#0000cc;";
        assert_eq!(css(json!({})), "");
        assert_eq!(
            css(json!({"colors": {"light": colors}, "radius": 4, "font": "Inter, serif"})),
            format!(".a{{{variables}--r:4px;font-family:Inter, serif}}")
        );
        assert_eq!(
            css(json!({"colors": {"dark": colors}, "font": "inherit"})),
            format!(".a{{font-family:$}}@media(prefers-color-scheme:dark){{.a{{{variables}}}}}")
        );
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
