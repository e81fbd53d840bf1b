//! Numbers, days and times (in UTC) as people read them.

use chrono::{DateTime, NaiveDate, Utc};

/// With separated thousands: 12,345.
pub fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// In whole percent; `None` if the whole is 0.
pub fn percent(part: i64, whole: i64) -> Option<i64> {
    let rounded = (i128::from(part) * 100 + i128::from(whole) / 2).checked_div(whole.into())?;
    i64::try_from(rounded).ok()
}

/// 3 May 2026.
pub fn day(time: DateTime<Utc>) -> String {
    date(time.date_naive())
}

pub fn date(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}

/// 3 May 2026, 14:05.
pub fn moment(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M").to_string()
}

pub fn second(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rounded_and_of_nothing_there_is_none() {
        assert_eq!([percent(1, 3), percent(2, 3), percent(0, 5)], [Some(33), Some(67), Some(0)]);
        assert_eq!([percent(i64::MAX, i64::MAX), percent(0, 0)], [Some(100), None]);
    }

    #[test]
    fn numbers_are_read_in_threes() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(number(-1_000), "-1,000");
    }
}
