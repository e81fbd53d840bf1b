//! Makes choices in the popup with mouse clicks, as a visitor would.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::page::Page;
use crate::browser::monotonic::monotonic_ms;

/// A page that has not requested a tag within this time has none.
const TAG: Duration = Duration::from_secs(4);
const POPUP: Duration = Duration::from_secs(8);
const DONE: Duration = Duration::from_secs(4);
const STEP: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Accepted,
    Declined,
    Withdrawn,
}

impl Choice {
    fn state(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Declined => "declined",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn banner_button(self) -> usize {
        usize::from(self != Self::Accepted)
    }

    /// The tag's function for the choice, for pages on which a click has no effect.
    fn function(self) -> &'static str {
        match self {
            Self::Accepted => "accept",
            Self::Declined => "decline",
            Self::Withdrawn => "withdraw",
        }
    }
}

/// The times just before and after a press, in milliseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Pressed {
    pub before_ms: f64,
    pub after_ms: f64,
}

/// A script that returns the centre of a button of the popup, or null.
fn button(selector: &str, index: &str) -> String {
    format!(
        "(() => {{ const root = document.querySelector('assent-ui')?.shadowRoot;
        const buttons = root ? [...root.querySelectorAll('{selector}')] : [];
        const button = buttons.at({index}); if (!button) return null;
        if (getComputedStyle(root.querySelector('.a')).pointerEvents === 'none') return null;
        button.scrollIntoView({{block: 'nearest'}});
        const {{left, top, width, height}} = button.getBoundingClientRect();
        return width ? [left + width / 2, top + height / 2] : null }})()"
    )
}

fn is_made(state: &str) -> String {
    format!(
        "(() => {{ try {{ return Object.keys(localStorage).some((key) =>
        key.startsWith('assent:') && !/[+?]$/.test(key) &&
        JSON.parse(localStorage[key]).state === '{state}') }} catch {{ return false }} }})()"
    )
}

impl Page {
    /// Waits for the popup and makes the first choice. `None` if there is no popup, or the choice has no effect.
    pub async fn choose(&self, choice: Choice) -> Option<Pressed> {
        let selector = button(".p .x button", &choice.banner_button().to_string());
        let start = Instant::now();
        while self.seen.lock().tags.is_empty() {
            if start.elapsed() > TAG {
                return None;
            }
            sleep(STEP).await;
        }
        let position = self.wait_for(&selector, POPUP).await?;
        let pressed = self.press(&position).await?;
        self.confirm(choice, pressed).await
    }

    /// Opens the dialog in which the visitor withdraws. Returns the position of the button for that, if there is one.
    pub async fn open_withdrawal(&self) -> Option<Value> {
        let corner = button("button.w:not([hidden])", "0");
        match self.evaluate(&corner, true).await {
            Value::Null => self.open_choice().await,
            position => drop(self.press(&position).await),
        }
        let withdraw = button("dialog .x button", "-1");
        let position = self.wait_for(&withdraw, Duration::from_secs(3)).await;
        if position.is_some() {
            return position;
        }
        self.open_choice().await;
        self.wait_for(&withdraw, Duration::from_secs(3)).await
    }

    /// Presses the button at this position, or calls the tag's function if there is no button.
    pub async fn withdraw(&self, button: Option<Value>) -> Option<Pressed> {
        let pressed = match button {
            Some(position) => self.press(&position).await?,
            None => self.call_tag(Choice::Withdrawn).await,
        };
        self.confirm(Choice::Withdrawn, pressed).await
    }

    async fn open_choice(&self) {
        let _ = self.evaluate("void window.assent?.open?.()", false).await;
    }

    /// Waits until the choice is stored. After two seconds the tag's own function is called instead.
    async fn confirm(&self, choice: Choice, pressed: Pressed) -> Option<Pressed> {
        let made = is_made(choice.state());
        if self.wait_until(&made, DONE / 2).await {
            return Some(pressed);
        }
        let called = self.call_tag(choice).await;
        let before_ms = pressed.before_ms;
        self.wait_until(&made, DONE).await.then_some(Pressed { before_ms, ..called })
    }

    async fn call_tag(&self, choice: Choice) -> Pressed {
        let before_ms = monotonic_ms();
        let call = format!("void window.assent?.{}?.()", choice.function());
        let _ = self.evaluate(&call, false).await;
        Pressed { before_ms, after_ms: monotonic_ms() }
    }

    async fn wait_for(&self, expression: &str, limit: Duration) -> Option<Value> {
        let start = Instant::now();
        let mut last = Value::Null;
        while start.elapsed() < limit {
            let found = self.evaluate(expression, true).await;
            // A click would miss a button that is still moving.
            if !found.is_null() && found == last {
                return Some(found);
            }
            last = found;
            sleep(STEP).await;
        }
        None
    }

    async fn wait_until(&self, expression: &str, limit: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.evaluate(expression, true).await == Value::Bool(true) {
                return true;
            }
            sleep(STEP).await;
        }
        false
    }

    async fn press(&self, position: &Value) -> Option<Pressed> {
        let (x, y) = (position[0].as_f64()?, position[1].as_f64()?);
        let before_ms = monotonic_ms();
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let count = u8::from(kind != "mouseMoved");
            let button = if count == 0 { "none" } else { "left" };
            let event =
                json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": count});
            self.call("Input.dispatchMouseEvent", event).await.ok()?;
        }
        Some(Pressed { before_ms, after_ms: monotonic_ms() })
    }
}
