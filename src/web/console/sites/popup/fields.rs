use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::policies::appearance::Appearance;
use crate::policies::consent_request::ConsentRequest;
use crate::policies::history::{ConsentConfiguration, PolicyVersionView};
use crate::policies::policy::USUAL_DAYS;
use crate::policies::popup_changes::PopupSettings;
use crate::types::consent::{Channel, Purpose};
use crate::web::console::kit::form::Form;

/// The five colours of a palette, with the defaults for light and dark as in `scripts-src/shared/style.ts`.
pub const COLORS: [(&str, [&str; 2]); 5] = [
    ("background", ["#ffffff", "#1b1e27"]),
    ("text", ["#1c2130", "#eef0f6"]),
    ("button", ["#e6eaf5", "#363c4e"]),
    ("button_text", ["#1c2130", "#eef0f6"]),
    ("link", ["#2f4bc0", "#a9bdff"]),
];
pub const SCHEMES: [&str; 2] = ["light", "dark"];

/// The form's fields, as texts; a ticked box has the text `on`.
#[derive(Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Fields(Map<String, Value>);

impl Fields {
    pub fn names() -> Vec<String> {
        let texts = [
            "controller_name",
            "controller_type",
            "controller_contact",
            "controller_jurisdiction",
            "controller_address",
            "rule_version",
            "data_sharing",
            "disclosed_parties",
            "site_policy_url",
            "consent_days",
            "personal_data",
            "storage_places",
            "retention",
            "contacts_need_consent",
            "contacts_need_act",
            "share_subdomains",
            "position",
            "radius",
            "font",
            "hide_button",
            "corner",
        ];
        let purposes = Purpose::ALL.iter().map(|purpose| format!("purpose_{}", purpose.as_str()));
        let channels = Channel::ALL.iter().map(|channel| format!("channel_{}", channel.as_str()));
        let colors = SCHEMES.iter().flat_map(|scheme| {
            let colors = COLORS.iter().map(move |(name, ..)| format!("{scheme}_{name}"));
            [format!("own_{scheme}")].into_iter().chain(colors)
        });
        texts.map(str::to_owned).into_iter().chain(purposes).chain(channels).chain(colors).collect()
    }

    pub fn read(form: &Form) -> Self {
        Self::read_with(|name| form.get(name).map(str::to_owned))
    }

    pub fn read_with(get: impl Fn(&str) -> Option<String>) -> Self {
        let given = Self::names().into_iter().filter_map(|name| {
            let value = get(&name)?;
            Some((name, Value::String(value)))
        });
        Self(given.collect())
    }

    /// Uses the colours of one scheme, `light` or `dark`, for both, so that the sample does not
    /// depend on the browser. Any other text leaves the fields unchanged.
    pub fn seen_in(mut self, scheme: &str) -> Self {
        let Some(at) = SCHEMES.iter().position(|known| *known == scheme) else { return self };
        let is_own = self.is_ticked(&format!("own_{scheme}"));
        for (name, usual) in COLORS {
            let own = self.text(&format!("{scheme}_{name}")).filter(|_| is_own);
            let color = own.unwrap_or_else(|| usual[at].to_owned());
            for scheme in SCHEMES {
                self.set(&format!("{scheme}_{name}"), &color);
            }
        }
        for scheme in SCHEMES {
            self.tick(&format!("own_{scheme}"), true);
        }
        self
    }

    pub fn fresh(controller_name: &str, now: &ConsentConfiguration) -> Self {
        let mut fields = Self::default();
        fields.set("controller_name", controller_name);
        fields.set("controller_type", "company");
        fields.set("purpose_analytics", "on");
        fields.set("purpose_resolution", "on");
        fields.tick("contacts_need_consent", now.contacts_need_consent);
        fields.tick("contacts_need_act", now.contacts_need_act);
        fields.tick("share_subdomains", now.share_subdomains);
        fields.set("consent_days", &USUAL_DAYS.to_string());
        fields.fill_colors(None);
        fields
    }

    pub fn of(version: &PolicyVersionView, now: &ConsentConfiguration) -> Self {
        let mut fields = Self::default();
        fields.set("controller_name", &version.controller_name);
        fields.set("controller_type", version.controller_type.as_str());
        for (name, text) in [
            ("controller_contact", &version.controller_contact),
            ("controller_jurisdiction", &version.controller_jurisdiction),
            ("controller_address", &version.controller_address),
            ("rule_version", &version.rule_version),
            ("site_policy_url", &version.site_policy_url),
            ("retention", &version.retention),
        ] {
            fields.set(name, text.as_deref().unwrap_or_default());
        }
        for purpose in &version.purposes {
            fields.set(&format!("purpose_{}", purpose.as_str()), "on");
        }
        for channel in &version.contact_channels {
            fields.set(&format!("channel_{}", channel.as_str()), "on");
        }
        fields.tick("data_sharing", version.data_sharing);
        for (name, lines) in [
            ("disclosed_parties", &version.disclosed_parties),
            ("personal_data", &version.personal_data),
            ("storage_places", &version.storage_places),
        ] {
            fields.set(name, &lines.join("\n"));
        }
        fields.set("consent_days", &version.consent_days.to_string());
        fields.tick("contacts_need_consent", now.contacts_need_consent);
        fields.tick("contacts_need_act", now.contacts_need_act);
        fields.tick("share_subdomains", now.share_subdomains);
        fields.fill_appearance(now.appearance.as_ref());
        fields
    }

    /// The fields of the settings alone, without those of a policy version.
    pub fn of_settings(settings: &PopupSettings) -> Self {
        let mut fields = Self::default();
        fields.tick("contacts_need_consent", settings.contacts_need_consent);
        fields.tick("contacts_need_act", settings.contacts_need_act);
        fields.tick("share_subdomains", settings.share_subdomains);
        fields.fill_appearance(Some(&settings.appearance));
        fields
    }

    fn fill_appearance(&mut self, appearance: Option<&Appearance>) {
        let looks = serde_json::to_value(appearance).unwrap_or_default();
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        for name in ["position", "radius", "font"] {
            self.set(name, &text(&looks[name]));
        }
        self.tick("hide_button", looks["button"]["show"] == json!(false));
        self.set("corner", &text(&looks["button"]["position"]));
        self.fill_colors(Some(&looks["colors"]));
    }

    fn fill_colors(&mut self, colors: Option<&Value>) {
        for (at, scheme) in SCHEMES.iter().enumerate() {
            let palette = colors.map(|colors| &colors[*scheme]);
            self.tick(&format!("own_{scheme}"), palette.is_some_and(Value::is_object));
            for (name, usual) in COLORS {
                let own = palette.and_then(|palette| palette[name].as_str());
                self.set(&format!("{scheme}_{name}"), own.unwrap_or(usual[at]));
            }
        }
    }

    fn set(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.0.insert(name.to_owned(), json!(text));
        }
    }

    fn tick(&mut self, name: &str, is_ticked: bool) {
        self.set(name, if is_ticked { "on" } else { "" });
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.get(name).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn is_ticked(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn request(&self) -> ConsentRequest {
        let ticked = |prefix: &str, names: Vec<&'static str>| {
            let ticked =
                names.into_iter().filter(|name| self.is_ticked(&format!("{prefix}_{name}")));
            ticked.map(str::to_owned).collect::<Vec<_>>()
        };
        ConsentRequest {
            controller_name: self.text("controller_name"),
            purposes: Some(ticked("purpose", Purpose::ALL.iter().map(|it| it.as_str()).collect())),
            controller_type: self.text("controller_type"),
            controller_contact: self.text("controller_contact"),
            controller_jurisdiction: self.text("controller_jurisdiction"),
            controller_address: self.text("controller_address"),
            rule_version: self.text("rule_version"),
            data_sharing: Some(self.is_ticked("data_sharing")),
            contact_channels: Some(ticked(
                "channel",
                Channel::ALL.iter().map(|it| it.as_str()).collect(),
            )),
            disclosed_parties: Some(self.lines("disclosed_parties")),
            site_policy_url: self.text("site_policy_url"),
            // Text that is not a number is refused like a number that is too large.
            consent_days: self.get("consent_days").map(|days| days.parse().unwrap_or(i64::MAX)),
            personal_data: Some(self.lines("personal_data")),
            storage_places: Some(self.lines("storage_places")),
            retention: self.text("retention"),
            appearance: Some(self.appearance()),
            contacts_need_consent: Some(self.is_ticked("contacts_need_consent")),
            contacts_need_act: Some(self.is_ticked("contacts_need_act")),
            // Test hosts are changed on the screen `Test`.
            test_hosts: None,
            share_subdomains: Some(self.is_ticked("share_subdomains")),
        }
    }

    fn appearance(&self) -> Value {
        let mut looks = Map::new();
        for name in ["position", "font"] {
            if let Some(text) = self.get(name) {
                looks.insert(name.to_owned(), json!(text));
            }
        }
        if let Some(radius) = self.get("radius") {
            looks.insert("radius".to_owned(), json!(radius.parse().unwrap_or(u32::MAX)));
        }
        let mut button =
            Map::from_iter([("show".to_owned(), json!(!self.is_ticked("hide_button")))]);
        if let Some(corner) = self.get("corner") {
            button.insert("position".to_owned(), json!(corner));
        }
        looks.insert("button".to_owned(), Value::Object(button));
        let own = SCHEMES.iter().filter(|scheme| self.is_ticked(&format!("own_{scheme}")));
        let colors = own.map(|scheme| {
            let color = |(name, _): &(&str, [&str; 2])| {
                ((*name).to_owned(), json!(self.get(&format!("{scheme}_{name}"))))
            };
            ((*scheme).to_owned(), Value::Object(COLORS.iter().map(color).collect()))
        });
        let colors = colors.collect::<Map<_, _>>();
        if !colors.is_empty() {
            looks.insert("colors".to_owned(), Value::Object(colors));
        }
        Value::Object(looks)
    }

    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let texts = self.0.iter().filter_map(|(name, value)| Some((&**name, value.as_str()?)));
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_colours_are_those_of_the_popup() {
        let style =
            include_str!("../../../../../scripts-src/shared/style.ts").replace("#fff;", "#ffffff;");
        for (variable, name) in [("b", "background"), ("f", "text"), ("k", "button"), ("l", "link")]
        {
            let (_, usual) = COLORS.iter().find(|(known, _)| *known == name).unwrap();
            for color in usual {
                assert!(style.contains(&format!("--{variable}:{color}")), "{name} {color}");
            }
        }
        assert!(style.contains("--t:var(--f)"), "text on buttons is as other text");
    }

    #[test]
    fn a_popup_is_seen_in_a_scheme_whatever_the_browser_is_set_to() {
        let given = [("own_dark", "on"), ("dark_text", "#123456"), ("light_text", "#654321")];
        let fields = || {
            Fields::read_with(|name| {
                given.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
            })
        };
        let dark = fields().seen_in("dark");
        assert_eq!([dark.get("dark_text"), dark.get("light_text")], [Some("#123456"); 2]);
        let light = fields().seen_in("light");
        assert_eq!(light.get("dark_text"), Some("#1c2130"), "what is not ticked is the usual");
        assert_eq!(fields().seen_in("").get("light_text"), Some("#654321"));
    }
}
