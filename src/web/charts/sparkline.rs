use std::fmt::Write;

use serde::Serialize;

use crate::infra::templates::Message;

const STEP: usize = 4;
const HEIGHT: i64 = 24;
/// The margin above and below the line: half the width of the stroke.
const EDGE: i64 = 2;

#[derive(Debug, Serialize)]
pub struct Sparkline {
    pub width: usize,
    pub height: i64,
    pub points: String,
    pub title: Message,
}

impl Sparkline {
    /// `counts` are in chronological order. If all are 0, the line is at the bottom.
    pub fn of(counts: &[i64], title: Message) -> Self {
        let top = counts.iter().copied().max().unwrap_or(0).max(1);
        let room = i128::from(HEIGHT - 2 * EDGE);
        let mut points = String::new();
        for (index, count) in counts.iter().enumerate() {
            let up = i128::from(*count) * room / i128::from(top);
            let y = i64::try_from(up).map_or(EDGE, |up| HEIGHT - EDGE - up);
            let space = if points.is_empty() { "" } else { " " };
            let _ = write!(points, "{space}{},{y}", index * STEP);
        }
        let width = counts.len().saturating_sub(1) * STEP;
        Self { width, height: HEIGHT, points, title }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(counts: &[i64]) -> String {
        Sparkline::of(counts, Message::plain("")).points
    }

    #[test]
    fn the_highest_day_touches_the_top_and_an_empty_one_the_ground() {
        assert_eq!(points(&[0, 5, 10]), "0,22 4,12 8,2");
        assert_eq!(points(&[0, 0]), "0,22 4,22");
        assert_eq!(points(&[i64::MAX, 0]), "0,2 4,22");
        assert_eq!(points(&[]), "");
    }

    #[test]
    fn it_is_as_wide_as_its_days() {
        assert_eq!(Sparkline::of(&[1; 30], Message::plain("")).width, 116);
        assert_eq!(Sparkline::of(&[], Message::plain("")).width, 0);
    }
}
