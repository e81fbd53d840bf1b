//! Plots for the macros in `templates/parts/charts.html.tera`: positions are computed here, shapes
//! there, and styles in `assets/console.css`. A plot's area is stretched to the available width, so
//! it contains no text. A table below it contains every number.

pub mod bars;
pub mod spans;
pub mod sparkline;

const HEIGHT: i64 = 1_000;

fn round_up(highest: i64) -> i64 {
    let mut step = 1_i64;
    loop {
        for round in [1, 2, 4, 5, 8].map(|digit| step.saturating_mul(digit)) {
            if round >= highest.max(4) {
                return round;
            }
        }
        step = step.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn a_scale_ends_with_a_round_number() {
        for (highest, top) in
            [(0, 4), (4, 4), (5, 5), (6, 8), (9, 10), (11, 20), (41, 50), (51, 80), (1_001, 2_000)]
        {
            assert_eq!(round_up(highest), top, "{highest}");
        }
        assert_eq!(round_up(i64::MAX), i64::MAX);
    }
}
