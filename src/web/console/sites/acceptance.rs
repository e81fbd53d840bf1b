//! Acceptance rates: how far they can be relied on, and how they differ.

use crate::receipts::daily_counts::series::Answers;
use crate::receipts::daily_counts::stats::Counts;
use crate::web::console::kit::words::{capital, count, percent};

/// Fewer responses are too few for a confidence interval or a comparison.
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

impl Rate {
    pub fn responses(self) -> String {
        count(self.responses, "response", "responses")
    }

    pub fn is_enough(self) -> bool {
        self.responses >= FEWEST
    }

    pub fn text(self) -> String {
        percent(self.accepted, self.responses).map_or("–".to_owned(), |rate| format!("{rate}%"))
    }

    /// The confidence interval; empty if there are not enough responses.
    pub fn interval(self) -> String {
        if !self.is_enough() {
            return String::new();
        }
        let [low, high] = self.wilson().map(|end| (end * 100.0).round());
        format!("{low}% to {high}%")
    }

    pub fn confidence(self) -> String {
        match self.responses {
            0 => "No responses.".to_owned(),
            _ if self.is_enough() => format!("With 95% confidence it is {}.", self.interval()),
            _ => format!("Not enough responses to rely on: fewer than {FEWEST}."),
        }
    }

    /// A sentence about the difference from another rate, such as the one `in the previous period`.
    pub fn difference(self, before: Self, place: &str) -> String {
        let (now, then) =
            (percent(self.accepted, self.responses), percent(before.accepted, before.responses));
        let Some(then) = then else { return format!("{}: no responses.", capital(place)) };
        let former = format!("{then}% of {}", before.responses());
        let Some(now) = now else { return format!("{}: {former}.", capital(place)) };
        if !self.is_enough() || !before.is_enough() {
            let few = format!("Not enough responses to compare: both need at least {FEWEST}.");
            return format!("{}: {former}. {few}", capital(place));
        }
        let points = match (now - then).abs() {
            1 => "1 percentage point".to_owned(),
            points => format!("{points} percentage points"),
        };
        let difference = match now - then {
            0 => "The same as".to_owned(),
            1.. => format!("{points} higher than"),
            _ => format!("{points} lower than"),
        };
        let chance = match self.differs_from(before) {
            true => "The difference is larger than chance explains (95% confidence).",
            false => "Chance can explain the difference (95% confidence).",
        };
        format!("{difference} {place}: {former}. {chance}")
    }

    fn share(self) -> f64 {
        self.accepted as f64 / self.responses as f64
    }

    /// The interval of Wilson, which stays between 0 and 1 and is reliable for few responses.
    fn wilson(self) -> [f64; 2] {
        let (share, responses) = (self.share(), self.responses as f64);
        let square = DEVIATIONS * DEVIATIONS;
        let middle = share + square / (2.0 * responses);
        let variance = share * (1.0 - share) / responses + square / (4.0 * responses * responses);
        let half = DEVIATIONS * variance.sqrt();
        let scale = 1.0 + square / responses;
        [((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)]
    }

    /// Whether the interval of the difference (Newcombe, from both intervals of Wilson) is above or below 0.
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

    fn rate(accepted: i64, responses: i64) -> Rate {
        Rate { accepted, responses }
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        assert_eq!(rate(50, 100).interval(), "40% to 60%");
        assert_eq!(rate(0, 30).interval(), "0% to 11%");
        assert_eq!(rate(30, 30).interval(), "89% to 100%");
        assert_eq!(rate(99, 173).confidence(), "With 95% confidence it is 50% to 64%.");
        assert_eq!(rate(29, 29).interval(), "");
        let few = "Not enough responses to rely on: fewer than 30.";
        assert_eq!([rate(1, 29).confidence(), rate(0, 0).confidence()], [few, "No responses."]);
    }

    #[test]
    fn a_difference_is_told_in_points_and_with_what_chance_explains() {
        let told = |now: Rate, before: Rate| now.difference(before, "in May");
        assert_eq!(
            told(rate(60, 100), rate(45, 100)),
            "15 percentage points higher than in May: 45% of 100 responses. The difference is larger \
             than chance explains (95% confidence)."
        );
        assert_eq!(
            told(rate(45, 100), rate(46, 100)),
            "1 percentage point lower than in May: 46% of 100 responses. Chance can explain the \
             difference (95% confidence)."
        );
        assert!(told(rate(50, 100), rate(50, 100)).starts_with("The same as in May: 50%"));
        assert!(!rate(55, 100).differs_from(rate(45, 100)));
        assert!(rate(5_500, 10_000).differs_from(rate(5_300, 10_000)));
    }

    #[test]
    fn too_few_responses_are_not_compared() {
        let told = rate(60, 100).difference(rate(1, 1), "in May");
        let few = "Not enough responses to compare: both need at least 30.";
        assert_eq!(told, format!("In May: 100% of one response. {few}"));
        assert_eq!(rate(1, 2).difference(rate(0, 0), "in May"), "In May: no responses.");
        assert_eq!(rate(0, 0).difference(rate(1, 2), "in May"), "In May: 50% of 2 responses.");
    }
}
