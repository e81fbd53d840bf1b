//! A hundred inputs for a capability, the same in every run: its usual callers and
//! others, its usual arguments and others.

use serde_json::{Map, Value};

use super::input::{Credentials, Input};
use super::operations::Operation;
use super::values::{good_values, odd_values};

/// Inputs of each capability.
pub const INPUTS: usize = 100;

const fn key(key: &'static str) -> Credentials {
    Credentials { key: Some(key), token: None, authorization: None }
}

const fn token(token: &'static str) -> Credentials {
    Credentials { key: None, token: Some(token), authorization: None }
}

const NONE: Credentials = Credentials { key: None, token: None, authorization: None };

const KEYS: [Credentials; 11] = [
    NONE,
    Credentials { authorization: Some("Basic eDp5"), ..NONE },
    Credentials { authorization: Some("Bearer "), ..NONE },
    key("px_unknown"),
    key("no key at all"),
    key("{revoked_key}"),
    key("{suspended_key}"),
    key("{pending_key}"),
    key("{foreign_key}"),
    key("{unlimited_key}"),
    key("{own_key}"),
];

const TOKENS: [Credentials; 7] = [
    NONE,
    token("unknown"),
    token("{foreign_token}"),
    token("{expired_token}"),
    token("{suspended_token}"),
    Credentials { key: Some("{own_key}"), token: Some("{foreign_token}"), authorization: None },
    token("{own_token}"),
];

/// The hundred inputs of an operation.
pub fn inputs(operation: &Operation) -> Vec<Input> {
    let fields = &operation.fields;
    let usual = |name: &String| {
        let value = good_values(name, &operation.name).swap_remove(0);
        (name.clone(), value)
    };
    let base = operation.required.iter().map(usual).collect::<Map<_, _>>();
    let with = |name: &String, value: Value| {
        let mut arguments = base.clone();
        arguments.insert(name.clone(), value);
        arguments
    };
    let known = credentials(operation);
    let own = known.last().copied().unwrap_or_default();
    let mut sent = known.iter().map(|one| (base.clone(), *one)).collect::<Vec<_>>();
    let good = fields.iter().flat_map(|name| {
        good_values(name, &operation.name).into_iter().map(move |value| (name, value))
    });
    sent.extend(good.map(|(name, value)| (with(name, value), own)));
    for name in &operation.required {
        let mut arguments = base.clone();
        arguments.remove(name);
        sent.push((arguments, own));
    }
    let odd = odd_values()
        .into_iter()
        .flat_map(|value| fields.iter().map(move |name| (name, value.clone())).collect::<Vec<_>>());
    let mut odd = odd.map(|(name, value)| (with(name, value), own)).collect::<Vec<_>>();
    let mut dice = Dice(1);
    while sent.len() < INPUTS && !odd.is_empty() {
        sent.push(odd.swap_remove(dice.below(odd.len())));
    }
    // The remaining inputs combine any caller with any arguments.
    while sent.len() < INPUTS {
        let mut arguments = base.clone();
        for name in fields {
            let mut values = good_values(name, &operation.name);
            values.extend(odd_values());
            if dice.below(2) == 0 {
                arguments.insert(name.clone(), values.swap_remove(dice.below(values.len())));
            }
        }
        sent.push((arguments, known[dice.below(known.len())]));
    }
    sent.truncate(INPUTS);
    let numbered = sent.into_iter().enumerate();
    let input = |(number, (arguments, credentials))| Input {
        arguments,
        credentials,
        in_arguments: number % 2 == 0,
    };
    numbered.map(input).collect()
}

/// Permitted and refused callers of the operation, its usual caller last.
fn credentials(operation: &Operation) -> Vec<Credentials> {
    match (operation.takes_key, operation.takes_token) {
        (true, true) => [&KEYS[..], &TOKENS[..]].concat(),
        (true, false) => KEYS.to_vec(),
        (false, true) => TOKENS.to_vec(),
        // Nobody looks at them.
        (false, false) => vec![key("px_unknown"), NONE],
    }
}

/// Numbers that look thrown, and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}
