/// Declares the routes of a file: `routes()` mounts them, `Description` documents them.
macro_rules! described_routes {
    [$($route:ident),+ $(,)?] => {
        pub fn routes() -> Vec<rocket::Route> {
            rocket::routes![$($route),+]
        }

        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($route),+))]
        pub struct Description;
    };
}
pub(crate) use described_routes;
