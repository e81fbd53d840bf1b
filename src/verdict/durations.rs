//! Recognises measured durations among the parts of values: they differ in each visit and identify no visitor.

/// Maximum number of durations in a value. A longer list of numbers may be an identifier.
const MAX_DURATIONS: usize = 12;
/// Maximum average spread, in binary orders of magnitude, of durations without a name or unit. Uniformly distributed
/// random numbers have a spread of about three.
const MAX_SPREAD: f64 = 1.5;
/// Minimum number of other profiles: fewer random numbers are too often similar by chance.
const MIN_COMPARED: usize = 3;

/// Durations are shorter than this, in milliseconds.
const LIMIT: f64 = 1e5;
const MAX_WHOLE: usize = 5;
const MAX_DIGITS: usize = 7;
/// The steps of numbers, indexed by the number of their digits after the decimal point.
const STEPS: [f64; 5] = [1.0, 0.1, 0.01, 0.001, 0.0001];

/// A number that may be a duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    /// The value of one unit in its last digit.
    pub step: f64,
    /// Whether its name or its unit denotes a duration.
    pub is_named: bool,
}

/// A number compared with those of other profiles, with the bits that it would have as a text.
pub struct Duration {
    bits: f64,
    /// The binary orders of magnitude by which it differs between profiles; `None` if it has a name or unit.
    spread: Option<f64>,
}

impl Duration {
    /// `None` if the number cannot be recognised as a duration.
    pub fn of(own: Number, others: &[Number], bits: f64) -> Option<Self> {
        if own.value >= LIMIT {
            return None;
        }
        if own.is_named {
            return Some(Self { bits, spread: None });
        }
        let all = || others.iter().chain([&own]);
        let step = all().map(|number| number.step).fold(1.0, f64::min);
        if step >= 1.0 || others.len() < MIN_COMPARED {
            return None;
        }
        let values = all().map(|number| number.value.max(step));
        let (least, greatest) = values.fold((LIMIT, step), |(least, greatest), value| {
            (least.min(value), greatest.max(value))
        });
        Some(Self { bits, spread: Some((greatest / least).log2()) })
    }
}

/// The bits of all numbers that are not durations, and those of one duration, because all were measured at once.
pub fn total(numbers: &[Duration]) -> (f64, f64) {
    let unnamed = numbers.iter().filter_map(|number| Some((number.bits, number.spread?)));
    let (bits, spread) = unnamed
        .fold((0.0_f64, 0.0_f64), |(all, sum), (bits, spread)| (all + bits, sum + bits * spread));
    let are_alike = spread <= MAX_SPREAD * bits;
    let is_duration = |number: &&Duration| {
        numbers.len() <= MAX_DURATIONS && (number.spread.is_none() || are_alike)
    };
    let (durations, texts): (Vec<_>, Vec<_>) = numbers.iter().partition(is_duration);
    let of_texts = texts.iter().map(|number| number.bits).sum::<f64>();
    (of_texts, durations.iter().map(|number| number.bits).fold(0.0, f64::max))
}

/// Parses a duration of the browser's clock, which counts tenths of a millisecond, and removes its rounding error.
pub fn measured(text: &str, fraction: usize) -> Option<(String, Number)> {
    let is_short = fraction >= 6 && text.len() - fraction <= 7;
    let number = text.parse::<f64>().ok().filter(|_| is_short)?;
    let tenths = (number * 10.0).round();
    ((number * 10.0 - tenths).abs() < 1e-4).then(|| {
        (format!("{tenths:.0}"), Number { value: tenths / 10.0, step: 0.1, is_named: false })
    })
}

/// Parses a short decimal number, perhaps with a unit, at the start of a text. Returns its digits and length as well.
pub fn number(text: &str) -> Option<(String, Number, usize)> {
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let length = if fraction == 0 { whole } else { whole + 1 + fraction };
    let rest = &text[length..];
    let is_end = |after: &str| !after.starts_with(char::is_alphanumeric);
    let mut units = ["", "ms", "s"].into_iter();
    let unit = units.find(|unit| rest.strip_prefix(*unit).is_some_and(is_end))?;
    // Versions and IP addresses contain more than one point.
    let is_chained = rest.strip_prefix('.').is_some_and(|after| !is_end(after));
    let is_plain = whole == 1 || !text.starts_with('0');
    let is_short = (1..=MAX_WHOLE).contains(&whole) && whole + fraction <= MAX_DIGITS;
    if is_chained || !is_plain || !is_short {
        return None;
    }
    let (value, step) = (text[..length].parse::<f64>().ok()?, *STEPS.get(fraction)?);
    let number = Number { value, step, is_named: !unit.is_empty() };
    Some((text[..length].replace('.', ""), number, length))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::bits::bits;

    const ENOUGH: f64 = 24.0;

    /// The durations of six profiles.
    const MEASURED: [[&str; 3]; 6] = [
        ["1234.5", "456.7", "88.30000000447035"],
        ["1180.2", "433.1", "76.4"],
        ["1399", "512.9", "102.69999998807907"],
        ["1267.8", "470", "91.1"],
        ["1302.3", "489.6", "84.5"],
        ["1221.6", "441.4", "79.9"],
    ];

    /// The minimum and maximum bits of these values, each compared with all others.
    fn range(values: &[String]) -> (f64, f64) {
        let all = values.iter().map(String::as_str).collect::<Vec<_>>();
        let found = (0..all.len()).map(|at| {
            let others = [&all[..at], &all[at + 1..]].concat();
            bits(all[at], &others)
        });
        found
            .fold((f64::INFINITY, 0.0_f64), |(least, most), bits| (least.min(bits), most.max(bits)))
    }

    fn written(form: &str, is_whole: bool) -> Vec<String> {
        let number = |text: &'static str| match is_whole {
            true => text.split('.').next().unwrap_or_default(),
            false => text,
        };
        let of = |all: &[&'static str; 3]| {
            let [one, two, three] = all.map(number);
            form.replace("$1", one).replace("$2", two).replace("$3", three)
        };
        MEASURED.iter().map(of).collect()
    }

    #[test]
    fn durations_count_once_however_many_a_value_has() {
        let forms = [
            (r#"{"lcp":$1,"fcp":$2,"ttfb":$3}"#, false),
            (r#"{"lcp":$1,"fcp":$2,"ttfb":$3}"#, true),
            (r#"{"domComplete":$1,"loadTime":$2,"time_to_first_byte":$3}"#, true),
            (r#"{"ts":1764251234567,"load":$1,"TTFB":$3,"group":"b"}"#, true),
            ("lcp=$1|fcp=$2|ttfb=$3", false),
            ("db;dur=$1, app;dur=$2, cache;dur=$3", false),
            ("hero $1, nav $2, map $3", false),
            ("$1|$2|$3", false),
            ("[$1, $2, $3]", false),
            ("$1ms $2ms $3ms", true),
        ];
        for (form, is_whole) in forms {
            let (_, most) = range(&written(form, is_whole));
            assert!(most <= 16.0, "{form}, {is_whole}: {most}");
        }
    }

    #[test]
    fn layout_shifts_beside_durations_are_measured_too() {
        let shifts = ["0.0123", "0", "0.0451", "0.0007", "0.1318", "0.0119"];
        let values = written("lcp=$1|fcp=$2", false).into_iter().zip(shifts);
        let values = values.map(|(value, shift)| format!("{value}|cls={shift}"));
        let (_, most) = range(&values.collect::<Vec<_>>());
        assert!(most <= 16.0, "{most}");
    }

    #[test]
    fn lists_of_random_numbers_identify() {
        let lists = [
            [
                "203,77,9,144",
                "12,188,240,61",
                "91,3,132,250",
                "166,215,48,19",
                "57,120,201,88",
                "230,34,71,173",
            ],
            [
                "0.48,0.92,0.11,0.53",
                "0.07,0.35,0.86,0.24",
                "0.63,0.19,0.42,0.98",
                "0.29,0.74,0.03,0.61",
                "0.85,0.06,0.57,0.37",
                "0.14,0.58,0.79,0.05",
            ],
            [
                "203.77.9.144",
                "12.188.240.61",
                "91.3.132.250",
                "166.215.48.19",
                "57.120.201.88",
                "230.34.71.173",
            ],
        ];
        for list in lists {
            let (least, _) = range(&list.map(str::to_owned));
            assert!(least >= ENOUGH, "{list:?}: {least}");
        }
    }

    #[test]
    fn more_durations_than_a_page_has_identify() {
        let of = |count: usize, profile: usize| {
            let number = |at: usize| 10_000 + (profile * 7_919 + at * 14_729) % 90_000;
            (0..count).map(|at| format!("load={};", number(at))).collect::<String>()
        };
        let values = |count| (0..6).map(|profile| of(count, profile)).collect::<Vec<_>>();
        let (_, most) = range(&values(MAX_DURATIONS));
        let (least, _) = range(&values(MAX_DURATIONS + 1));
        assert!(most <= 16.0 && least >= ENOUGH, "{most}, {least}");
    }

    #[test]
    fn versions_and_long_numbers_are_no_durations() {
        for text in ["1.2.3", "123456", "1234.56789", "12345.678", "0123", "1.2e5", "12px", "x1"] {
            assert!(number(text).is_none(), "{text}");
        }
        let numbers = [
            ("1234.5,", "12345", 6),
            ("0.0123|", "00123", 6),
            ("88ms", "88", 2),
            ("1.25s ", "125", 4),
            ("9. Then", "9", 1),
        ];
        for (text, digits, length) in numbers {
            let found = number(text).map(|(digits, _, length)| (digits, length));
            assert_eq!(found, Some((digits.to_owned(), length)), "{text}");
        }
    }
}
