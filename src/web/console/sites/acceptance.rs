//! Acceptance rates: how far they can be relied on, and how they differ.

use crate::infra::templates::{Message, tr};
use crate::receipts::daily_counts::series::Answers;
use crate::receipts::daily_counts::stats::Counts;
use crate::web::console::kit::words::{counted, percent};

/// The minimum number of responses for a confidence interval or a comparison.
pub const FEWEST: i64 = 30;
/// 95 % of a normal distribution are within this number of standard deviations.
const DEVIATIONS: f64 = 1.959_964;

/// Acceptances as a share of the responses: acceptances and refusals, without withdrawals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    accepted: i64,
    responses: i64,
}

impl From<&Counts> for Rate {
    fn from(counts: &Counts) -> Self {
        Self { accepted: counts.accepted, responses: counts.accepted + counts.declined }
    }
}

impl From<Answers> for Rate {
    fn from(Answers { accepted, declined, .. }: Answers) -> Self {
        Self { accepted, responses: accepted + declined }
    }
}

/// The period with which a rate is compared.
pub enum Before {
    /// The previous period, with its name.
    Period(Message),
    /// An earlier version of the notice.
    Version(i32),
}

impl Before {
    /// Chooses the text for a period or a version, and fills it.
    fn choose(&self, [of_period, of_version]: [Message; 2]) -> Message {
        match self {
            Self::Period(days) => of_period.with("days", days),
            Self::Version(version) => of_version.with("version", version),
        }
    }
}

impl Rate {
    pub fn responses(self) -> Message {
        let texts = [tr("no responses"), tr("one response"), tr("{{ number }} responses")];
        counted(self.responses, texts)
    }

    /// The number of responses.
    pub fn count(self) -> i64 {
        self.responses
    }

    pub fn is_enough(self) -> bool {
        self.responses >= FEWEST
    }

    pub fn text(self) -> Message {
        let rate = percent(self.accepted, self.responses);
        rate.map_or_else(|| Message::plain("–"), Message::WholePercent)
    }

    /// The confidence interval; `None` if there are not enough responses.
    pub fn interval(self) -> Option<Message> {
        self.with_ends(tr("{{ low }} to {{ high }}"))
    }

    pub fn confidence(self) -> Message {
        let few = || {
            tr("Not enough responses to rely on: fewer than {{ fewest }}.").with("fewest", FEWEST)
        };
        match self.responses {
            0 => tr("No responses."),
            _ => self
                .with_ends(tr("With 95% confidence it is {{ low }} to {{ high }}."))
                .unwrap_or_else(few),
        }
    }

    /// A text with the ends of the confidence interval.
    fn with_ends(self, text: Message) -> Option<Message> {
        if !self.is_enough() {
            return None;
        }
        let [low, high] =
            self.wilson().map(|end| Message::WholePercent((end * 100.0).round() as i64));
        Some(text.with("low", low).with("high", high))
    }

    /// Sentences about the difference from another rate.
    pub fn difference(self, other: Self, before: &Before) -> Message {
        let (now, then) =
            (percent(self.accepted, self.responses), percent(other.accepted, other.responses));
        if then.is_none() {
            return before.choose([
                tr("In the previous period, {{ days }}: no responses."),
                tr("With version {{ version }}: no responses."),
            ]);
        }
        let Some(points) = now.zip(then).map(|(now, then)| now - then) else {
            return other.alone(before);
        };
        if !self.is_enough() || !other.is_enough() {
            let few = tr("Not enough responses to compare: both need at least {{ fewest }}.");
            return Message::Sentences(vec![other.alone(before), few.with("fewest", FEWEST)]);
        }
        let difference = before.choose(match points {
            0 => [
                tr("The same as in the previous period, {{ days }}: {{ former }}."),
                tr("The same as with version {{ version }}: {{ former }}."),
            ],
            1.. => [
                tr("{{ points }} percentage point{{ points | pluralize }} higher than in the previous period, {{ days }}: {{ former }}."),
                tr("{{ points }} percentage point{{ points | pluralize }} higher than with version {{ version }}: {{ former }}."),
            ],
            _ => [
                tr("{{ points }} percentage point{{ points | pluralize }} lower than in the previous period, {{ days }}: {{ former }}."),
                tr("{{ points }} percentage point{{ points | pluralize }} lower than with version {{ version }}: {{ former }}."),
            ],
        });
        let difference =
            difference.with("points", points.abs()).with("former", other.of_responses());
        let chance = match self.differs_from(other) {
            true => tr("The difference is larger than chance explains (95% confidence)."),
            false => tr("Chance can explain the difference (95% confidence)."),
        };
        Message::Sentences(vec![difference, chance])
    }

    fn alone(self, before: &Before) -> Message {
        let texts = [
            tr("In the previous period, {{ days }}: {{ former }}."),
            tr("With version {{ version }}: {{ former }}."),
        ];
        before.choose(texts).with("former", self.of_responses())
    }

    fn of_responses(self) -> Message {
        tr("{{ rate }} of {% if many == 1 %}one response{% else %}{{ number }} responses{% endif %}")
            .with("rate", self.text())
            .with("many", self.responses)
            .with("number", Message::Number(self.responses))
    }

    fn share(self) -> f64 {
        self.accepted as f64 / self.responses as f64
    }

    /// The Wilson score interval, which stays between 0 and 1 and is reliable for few responses.
    fn wilson(self) -> [f64; 2] {
        let (share, responses) = (self.share(), self.responses as f64);
        let square = DEVIATIONS * DEVIATIONS;
        let middle = share + square / (2.0 * responses);
        let variance = share * (1.0 - share) / responses + square / (4.0 * responses * responses);
        let half = DEVIATIONS * variance.sqrt();
        let scale = 1.0 + square / responses;
        [((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)]
    }

    /// Whether the confidence interval of the difference (Newcombe, from both Wilson intervals) excludes 0.
    fn differs_from(self, other: Self) -> bool {
        let (higher, lower) =
            if self.share() >= other.share() { (self, other) } else { (other, self) };
        let ([low, _], [_, high]) = (higher.wilson(), lower.wilson());
        let margin = (higher.share() - low).hypot(high - lower.share());
        higher.share() - lower.share() > margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    fn rate(accepted: i64, responses: i64) -> Rate {
        Rate { accepted, responses }
    }

    fn compared(now: Rate, before: Rate) -> String {
        in_english(&now.difference(before, &Before::Version(2)))
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        let interval = |rate: Rate| rate.interval().map(|interval| in_english(&interval));
        let confidence = |rate: Rate| in_english(&rate.confidence());
        assert_eq!(interval(rate(50, 100)).as_deref(), Some("40% to 60%"));
        assert_eq!(interval(rate(0, 30)).as_deref(), Some("0% to 11%"));
        assert_eq!(interval(rate(30, 30)).as_deref(), Some("89% to 100%"));
        assert_eq!(confidence(rate(99, 173)), "With 95% confidence it is 50% to 64%.");
        assert_eq!(interval(rate(29, 29)), None);
        let few = "Not enough responses to rely on: fewer than 30.";
        assert_eq!([confidence(rate(1, 29)), confidence(rate(0, 0))], [few, "No responses."]);
    }

    #[test]
    fn a_difference_is_given_in_points_and_with_what_chance_explains() {
        assert_eq!(
            compared(rate(60, 100), rate(45, 100)),
            "15 percentage points higher than with version 2: 45% of 100 responses. The difference \
             is larger than chance explains (95% confidence)."
        );
        assert_eq!(
            compared(rate(45, 100), rate(46, 100)),
            "1 percentage point lower than with version 2: 46% of 100 responses. Chance can explain \
             the difference (95% confidence)."
        );
        let same = rate(50, 100).difference(rate(50, 100), &Before::Period(Message::plain("May")));
        assert!(
            in_english(&same).starts_with("The same as in the previous period, May: 50% of 100")
        );
        assert!(!rate(55, 100).differs_from(rate(45, 100)));
        assert!(rate(5_500, 10_000).differs_from(rate(5_300, 10_000)));
    }

    #[test]
    fn too_few_responses_are_not_compared() {
        let few = "Not enough responses to compare: both need at least 30.";
        let one = format!("With version 2: 100% of one response. {few}");
        assert_eq!(compared(rate(60, 100), rate(1, 1)), one);
        assert_eq!(compared(rate(1, 2), rate(0, 0)), "With version 2: no responses.");
        assert_eq!(compared(rate(0, 0), rate(1, 2)), "With version 2: 50% of 2 responses.");
    }
}
