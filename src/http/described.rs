//! Lists of routes. The same list both mounts and documents its routes.

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{OpenApi, SecurityRequirement};

use super::refusals::responses;
use crate::accounts::capability::{Capability, refusals_before};
use crate::accounts::credentials::Accepts;
use crate::error::Error;

/// Declares the routes of a module: `routes()` mounts them, `Description` documents them. Each has a
/// `#[utoipa::path]`. A route of a capability is followed by the capability and by the guards that may
/// refuse a request; its operation id, its security and its refusals are derived from these.
macro_rules! described_routes {
    [$($route:ident $(of $capability:ty: [$($guard:ty),* $(,)?])?),+ $(,)?] => {
        pub fn routes() -> Vec<rocket::Route> {
            rocket::routes![$($route),+]
        }

        /// The description of the routes.
        pub struct Description;

        impl utoipa::OpenApi for Description {
            fn openapi() -> utoipa::openapi::OpenApi {
                #[derive(utoipa::OpenApi)]
                #[openapi(paths($($route),+))]
                struct Routes;

                let document = <Routes as utoipa::OpenApi>::openapi();
                $($(
                    let guards = vec![$(<$guard as $crate::http::refusals::Refuses>::refusals()),*];
                    let document = $crate::http::described::describe::<$capability>(
                        document,
                        stringify!($route),
                        guards,
                    );
                )?)+
                document
            }
        }
    };
}
pub(crate) use described_routes;

/// Adds the declarations of its capability and the refusals of its guards to the description of a route.
pub fn describe<C: Capability>(
    mut document: OpenApi,
    route: &str,
    guards: Vec<Vec<Error>>,
) -> OpenApi {
    let items = document.paths.paths.values_mut();
    let is_route = |operation: &&mut Operation| operation.operation_id.as_deref() == Some(route);
    let operation = items.flat_map(operations_of).find(is_route);
    let operation = operation.expect("the route is in the document");
    operation.operation_id = Some(C::NAME.to_owned());
    if let Some(security) = security(C::ACCEPTS) {
        operation.security = Some(security);
    }
    let own = C::refusals().into_iter().chain(refusals_before::<C>());
    let refusals = own.chain(guards.into_iter().flatten()).collect::<Vec<_>>();
    operation.responses.responses.extend(responses(&refusals));
    document
}

fn operations_of(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete]
        .into_iter()
        .flatten()
}

/// The security of an operation, one entry for each way to call it; `None` where no credential is
/// mentioned.
fn security(accepts: Accepts) -> Option<Vec<SecurityRequirement>> {
    let by = |name: &str| SecurityRequirement::new(name, [""; 0]);
    let keys = [by("api_key"), by("x_api_key")];
    let token = by("signup_token");
    match accepts {
        Accepts::Nothing | Accepts::OperatorKey => None,
        Accepts::Key => Some(keys.into()),
        Accepts::SignupToken => Some(vec![token]),
        Accepts::SignupTokenOrKey => Some([token].into_iter().chain(keys).collect()),
        Accepts::OptionalKey => {
            Some([SecurityRequirement::default()].into_iter().chain(keys).collect())
        }
    }
}
