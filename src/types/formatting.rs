//! Percentages for display.

/// The part in whole percent, rounded; `None` if `whole` is 0.
pub fn percent(part: i64, whole: i64) -> Option<i64> {
    let rounded = (i128::from(part) * 100 + i128::from(whole) / 2).checked_div(whole.into())?;
    i64::try_from(rounded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rounded_and_of_nothing_there_is_none() {
        assert_eq!([percent(1, 3), percent(2, 3), percent(0, 5)], [Some(33), Some(67), Some(0)]);
        assert_eq!([percent(i64::MAX, i64::MAX), percent(0, 0)], [Some(100), None]);
    }
}
