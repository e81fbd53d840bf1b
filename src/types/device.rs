use super::text_enum::text_enum;

text_enum! {
    /// The kind of screen on which a popup is shown.
    pub enum Device {
        Desktop = "desktop",
        Phone = "phone",
    }
}

impl Device {
    /// Width and height in CSS pixels.
    pub fn viewport(self) -> (u32, u32) {
        match self {
            Self::Desktop => (1280, 800),
            Self::Phone => (390, 844),
        }
    }
}
