//! Routes that are mounted and described by the same list.

/// Declares the routes of a room: `routes()` mounts them, `Description` documents them. Each has a
/// `#[utoipa::path]` of its own.
macro_rules! described_routes {
    [$($route:ident),+ $(,)?] => {
        pub fn routes() -> Vec<rocket::Route> {
            rocket::routes![$($route),+]
        }

        /// These routes for the API's description.
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($route),+))]
        pub struct Description;
    };
}
pub(crate) use described_routes;
