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
    pub segments: Vec<BarSegment>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BarSegment {
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
        for (index, column) in columns.into_iter().enumerate() {
            let x = index * STEP;
            marks.extend(column.mark.map(|title| Mark { x, title }));
            bars.push(Bar {
                x: x + GAP,
                width: STEP - 2 * GAP,
                title: column.title,
                segments: stack(kinds, column.counts, top),
            });
        }
        Self { width, height: HEIGHT, top, bars, marks }
    }
}

/// Each edge is rounded separately, so that the segments touch and end at their sum.
fn stack<const KINDS: usize>(
    kinds: [&'static str; KINDS],
    counts: [i64; KINDS],
    top: i64,
) -> Vec<BarSegment> {
    let scaled = |sum: i64| {
        let scaled = i128::from(sum) * i128::from(HEIGHT) / i128::from(top);
        i64::try_from(scaled).unwrap_or(HEIGHT)
    };
    let (mut segments, mut sum) = (Vec::new(), 0);
    for (kind, count) in kinds.into_iter().zip(counts) {
        let bottom = scaled(sum);
        sum += count;
        let upper = scaled(sum);
        if upper > bottom {
            segments.push(BarSegment { kind, y: HEIGHT - upper, height: upper - bottom });
        }
    }
    segments
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
    fn segments_lie_on_each_other_and_the_highest_bar_fits() {
        let plot = plot(vec![column([2, 6], None), column([0, 1], None), column([0, 0], None)]);
        assert_eq!((plot.width, plot.height, plot.top), (30, 1_000, 8));
        let segments = plot.bars.iter().map(|bar| &bar.segments[..]).collect::<Vec<_>>();
        let segment = |kind, y, height| BarSegment { kind, y, height };
        assert_eq!(segments[0], [segment("yes", 750, 250), segment("no", 0, 750)]);
        assert_eq!(segments[1], [segment("no", 875, 125)]);
        assert_eq!(segments[2], []);
        assert_eq!(plot.bars.iter().map(|bar| bar.x).collect::<Vec<_>>(), [1, 11, 21]);
        assert_eq!(plot.bars[1].title, Message::plain("[0, 1]"));
    }

    #[test]
    fn thirds_leave_no_gap_between_them() {
        for counts in [[1, 2], [333, 667], [7, 6], [i64::MAX / 4, i64::MAX / 4]] {
            let plot = plot(vec![column(counts, None)]);
            let [yes, no] = &plot.bars[0].segments[..] else { panic!("two segments") };
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
