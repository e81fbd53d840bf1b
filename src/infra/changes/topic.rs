#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic<'a> {
    /// A canonical pixel id or an alias: both are looked up by name.
    Pixel(&'a str),
    Account(&'a str),
}
