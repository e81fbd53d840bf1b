use serde::Serialize;

use super::{HEIGHT, round_up};
use crate::infra::templates::Message;

const STEP: usize = 10;
const GAP: usize = 1;

pub struct Column<const KINDS: usize> {
    /// The tooltip, also for screen readers.
    pub title: Message,
    pub counts: [i64; KINDS],
    pub mark: Option<Message>,
}

#[derive(Debug, Serialize)]
pub struct Bars {
    pub width: usize,
    pub height: i64,
    pub top: i64,
    pub bars: Vec<Bar>,
    pub marks: Vec<Mark>,
}

#[derive(Debug, Serialize)]
pub struct Bar {
    pub x: usize,
    pub width: usize,
    pub title: Message,
    pub parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub kind: &'static str,
    pub y: i64,
    pub height: i64,
}

#[derive(Debug, Serialize)]
pub struct Mark {
    pub x: usize,
    pub title: Message,
}

impl Bars {
    /// `kinds` are the names of the counts, which determine the colours.
    pub fn of<const KINDS: usize>(
        kinds: [&'static str; KINDS],
        columns: Vec<Column<KINDS>>,
    ) -> Self {
        let sum = |column: &Column<KINDS>| column.counts.iter().sum::<i64>();
        let top = round_up(columns.iter().map(sum).max().unwrap_or(0));
        let (mut bars, mut marks) = (Vec::with_capacity(columns.len()), Vec::new());
        let width = columns.len() * STEP;
        for (place, column) in columns.into_iter().enumerate() {
            let x = place * STEP;
            marks.extend(column.mark.map(|title| Mark { x, title }));
            bars.push(Bar {
                x: x + GAP,
                width: STEP - 2 * GAP,
                title: column.title,
                parts: stack(kinds, column.counts, top),
            });
        }
        Self { width, height: HEIGHT, top, bars, marks }
    }
}

/// Each edge is rounded separately, so that the parts touch and end at their sum.
fn stack<const KINDS: usize>(
    kinds: [&'static str; KINDS],
    counts: [i64; KINDS],
    top: i64,
) -> Vec<Part> {
    let scaled = |sum: i64| {
        let scaled = i128::from(sum) * i128::from(HEIGHT) / i128::from(top);
        i64::try_from(scaled).unwrap_or(HEIGHT)
    };
    let (mut parts, mut sum) = (Vec::new(), 0);
    for (kind, count) in kinds.into_iter().zip(counts) {
        let bottom = scaled(sum);
        sum += count;
        let upper = scaled(sum);
        if upper > bottom {
            parts.push(Part { kind, y: HEIGHT - upper, height: upper - bottom });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(counts: [i64; 2], mark: Option<&str>) -> Column<2> {
        let title = Message::plain(format!("{counts:?}"));
        Column { title, counts, mark: mark.map(Message::plain) }
    }

    fn plot(columns: Vec<Column<2>>) -> Bars {
        Bars::of(["yes", "no"], columns)
    }

    #[test]
    fn parts_lie_on_each_other_and_the_highest_bar_fits() {
        let plot = plot(vec![column([2, 6], None), column([0, 1], None), column([0, 0], None)]);
        assert_eq!((plot.width, plot.height, plot.top), (30, 1_000, 8));
        let parts = plot.bars.iter().map(|bar| &bar.parts[..]).collect::<Vec<_>>();
        let part = |kind, y, height| Part { kind, y, height };
        assert_eq!(parts[0], [part("yes", 750, 250), part("no", 0, 750)]);
        assert_eq!(parts[1], [part("no", 875, 125)]);
        assert_eq!(parts[2], []);
        assert_eq!(plot.bars.iter().map(|bar| bar.x).collect::<Vec<_>>(), [1, 11, 21]);
        assert_eq!(plot.bars[1].title, Message::plain("[0, 1]"));
    }

    #[test]
    fn thirds_leave_no_gap_between_them() {
        for counts in [[1, 2], [333, 667], [7, 6], [i64::MAX / 4, i64::MAX / 4]] {
            let plot = plot(vec![column(counts, None)]);
            let [yes, no] = &plot.bars[0].parts[..] else { panic!("two parts") };
            assert_eq!(no.y + no.height, yes.y, "{counts:?}");
            assert_eq!(yes.y + yes.height, 1_000, "{counts:?}");
        }
    }

    #[test]
    fn marks_stand_where_their_bars_begin() {
        let plot = plot(vec![column([1, 1], None), column([1, 1], Some("version 2"))]);
        let marks = plot.marks.into_iter().map(|mark| (mark.x, mark.title)).collect::<Vec<_>>();
        assert_eq!(marks, [(10, Message::plain("version 2"))]);
    }

    #[test]
    fn nothing_at_all_is_an_empty_plot() {
        let plot = plot(Vec::new());
        assert_eq!((plot.width, plot.top, plot.bars.len()), (0, 4, 0));
    }
}
