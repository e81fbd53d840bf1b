//! Classifies the characters and words of values, and estimates the bits that they can carry.

/// The bits of a word, as if it were chosen from a list of two thousand words.
const WORD_BITS: f64 = 11.0;

/// Phrases may contain short pieces, such as language codes and variant numbers: their maximum length and number.
const MAX_SHORT: usize = 2;
const MAX_SHORT_PARTS: usize = 2;
/// Maximum length of an abbreviation such as `exp` or `ttfb`.
const MAX_ABBREVIATION: usize = 4;
/// Only numbers below this one are small buckets.
const LARGE_BUCKET: u32 = 1000;

/// The last words of the names of durations and of other measurements of page loads.
const DURATIONS: &str = "byte cls complete connect dcl delay dns dom download dur duration elapsed \
    end fcp fid fp inp interactive latency lcp load loaded ms paint ready render response rtt ssl \
    start tbt tcp time timing tls took ttfb tti";

/// The bits of the part of a text between the prefix and suffix that all texts share, by its character set.
pub fn text_bits(text: &str, texts: &[&str]) -> f64 {
    let others = texts.iter().map(|text| text.chars().collect::<Vec<_>>()).collect::<Vec<_>>();
    let own = text.chars().collect::<Vec<_>>();
    let is_common = |at: usize, from_end: bool| {
        let character = |characters: &Vec<char>| match from_end {
            true => characters.iter().rev().nth(at).copied(),
            false => characters.get(at).copied(),
        };
        !others.is_empty() && others.iter().all(|other| character(other) == character(&own))
    };
    let start = (0..own.len()).take_while(|&at| is_common(at, false)).count();
    let end = (0..own.len() - start).take_while(|&at| is_common(at, true)).count();
    let varying = &own[start..own.len() - end];
    let pooled = others.iter().filter(|other| other.len() == own.len());
    let pooled = pooled.flat_map(|other| &other[start..other.len() - end]);
    let characters = varying.iter().chain(pooled).copied().collect::<Vec<_>>();
    #[allow(clippy::cast_precision_loss, reason = "values are short")]
    let length = varying.len() as f64;
    (length * character_bits(&characters)).min(most_bits(text, texts))
}

fn character_bits(characters: &[char]) -> f64 {
    let all = |is_in: fn(char) -> bool| characters.iter().all(|&character| is_in(character));
    let size: f64 = if all(|c| c.is_ascii_digit()) {
        10.0
    } else if all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        || all(|c| c.is_ascii_digit() || ('A'..='F').contains(&c))
    {
        16.0
    } else if all(|c| c.is_ascii_lowercase()) || all(|c| c.is_ascii_uppercase()) {
        26.0
    } else if all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
        || all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    {
        36.0
    } else {
        62.0
    };
    size.log2()
}

/// Upper bound on the bits of a text, from the values of the same field in other profiles.
fn most_bits(text: &str, others: &[&str]) -> f64 {
    let mut most = of_repeated(text, others);
    if is_word(text) && others.iter().all(|other| is_word(other)) {
        most = most.min(WORD_BITS);
    }
    let numbers = others.iter().chain([&text]).map(|text| small_number(text));
    if let Some(numbers) = numbers.collect::<Option<Vec<_>>>().filter(|all| all.len() >= 3) {
        let (least, greatest) = (numbers.iter().min(), numbers.iter().max());
        let range = greatest.zip(least).map_or(0, |(greatest, least)| greatest - least);
        most = most.min((f64::from(range + 1) * 1.5).log2());
    }
    most
}

fn of_repeated(text: &str, others: &[&str]) -> f64 {
    let is_alike = |other: &&&str| match is_word(text) {
        true => is_word(other),
        false => other.len() == text.len() && !is_word(other) && !is_monotonous(other),
    };
    let alike = others.iter().filter(is_alike).collect::<Vec<_>>();
    shared_bits(&alike)
}

/// Upper bound on the bits of a value whose own parts are words: the bits of the words, or those of the set of values
/// if other profiles share theirs. Infinite if its parts, or those of the other values, are not words.
pub fn of_phrases(own: &[&str], of_others: &[Vec<&str>], others: &[&str]) -> f64 {
    let is_phrase = |parts: &[&str]| {
        let short = parts.iter().flat_map(|part| pieces(part)).filter(|piece| !is_word(piece));
        short.clone().all(|piece| piece.len() <= MAX_SHORT) && short.count() <= MAX_SHORT_PARTS
    };
    if others.len() < 2 || !is_phrase(own) || !of_others.iter().all(|parts| is_phrase(parts)) {
        return f64::INFINITY;
    }
    #[allow(clippy::cast_precision_loss, reason = "values are short")]
    let of_words = own.iter().flat_map(|part| pieces(part)).count() as f64 * WORD_BITS;
    of_words.min(shared_bits(others))
}

/// The bits of a set from which the other profiles have one or two values. Infinite if they have more: then a repeated
/// value may be an identifier that two profiles share, or a default value.
pub fn shared_bits<T: PartialEq>(others: &[T]) -> f64 {
    let is_first = |at: &usize| !others[..*at].contains(&others[*at]);
    match (0..others.len()).filter(is_first).count() {
        0..=2 => set_bits(others),
        _ => f64::INFINITY,
    }
}

/// Estimates the bits of a set from the proportion of equal pairs among values that were taken from it.
#[allow(clippy::cast_precision_loss, reason = "a few profiles")]
pub fn set_bits<T: PartialEq>(values: &[T]) -> f64 {
    let taken = values.len();
    let pairs = (0..taken).flat_map(|one| (0..one).map(move |other| (one, other)));
    let equal = pairs.filter(|&(one, other)| values[one] == values[other]).count();
    if taken < 3 || equal == 0 {
        return f64::INFINITY;
    }
    ((taken * (taken - 1) / 2) as f64 / equal as f64).log2()
}

/// Whether a text repeats one character, as the value of an unset field often does.
fn is_monotonous(text: &str) -> bool {
    text.chars().all(|character| text.starts_with(character))
}

fn small_number(text: &str) -> Option<u32> {
    let is_plain = text.len() <= 6 && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Splits a name such as `variantB2` into its words and numbers.
fn pieces(text: &str) -> Vec<&str> {
    let is_start = |(before, after): (char, char)| {
        before.is_ascii_digit() != after.is_ascii_digit()
            || before.is_lowercase() && after.is_uppercase()
    };
    let pairs = text.char_indices().zip(text.chars().skip(1));
    let ends = pairs.filter(|&((_, before), after)| is_start((before, after)));
    let ends = ends.map(|((at, before), _)| at + before.len_utf8()).chain([text.len()]);
    let mut start = 0;
    ends.map(|end| &text[std::mem::replace(&mut start, end)..end]).collect()
}

/// Whether the last word of a name denotes a duration.
pub fn names_duration(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let last = pieces(last).pop().unwrap_or_default();
    DURATIONS.split(' ').any(|known| known.eq_ignore_ascii_case(last))
}

/// Whether a text is an abbreviation, or words with at most one short number or character, such as `variantB`.
pub fn is_wording(text: &str) -> bool {
    let (words, others): (Vec<_>, Vec<_>) = pieces(text).into_iter().partition(|it| is_word(it));
    let is_short = others.len() <= 1 && others.iter().all(|other| other.len() <= MAX_SHORT);
    let is_abbreviation = text.len() <= MAX_ABBREVIATION && is_in_one_case(text);
    is_abbreviation || is_short && !words.is_empty()
}

/// Whether a part is a small bucket (a plain number below 1,000) or names a group (words, perhaps with a few short
/// other pieces).
pub fn is_bucket(part: &str) -> bool {
    let (words, others): (Vec<_>, Vec<_>) = pieces(part).into_iter().partition(|it| is_word(it));
    let is_short = others.iter().all(|other| other.len() <= MAX_SHORT);
    let names_group = !words.is_empty() && others.len() <= MAX_SHORT_PARTS && is_short;
    names_group || small_number(part).is_some_and(|number| number < LARGE_BUCKET)
}

/// Whether a text could be a word of a natural language, judged by its vowels.
pub fn is_word(text: &str) -> bool {
    if !(2..=16).contains(&text.len()) || !is_in_one_case(text) {
        return false;
    }
    let is_vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let vowels = text.chars().filter(|&c| is_vowel(c)).count();
    let longest = text.split(is_vowel).map(str::len).max().unwrap_or(0);
    longest <= 4 && vowels * 5 >= text.len()
}

/// Whether a text consists of letters in one case; the first may be a capital.
fn is_in_one_case(text: &str) -> bool {
    let is_cased = text.chars().skip(1).all(|c| c.is_ascii_lowercase())
        || text.chars().all(|c| c.is_ascii_uppercase());
    is_cased && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinguished_from_random_letters() {
        for word in ["control", "treatment", "withdrawn", "Original", "off", "EUR"] {
            assert!(is_word(word), "{word}");
        }
        for text in ["xkcdqwrtz", "aBcDeF", "a1b2", "hjklqwvx", ""] {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn names_have_pieces() {
        assert_eq!(pieces("newCheckout2b"), ["new", "Checkout", "2", "b"]);
        assert_eq!(pieces("50off"), ["50", "off"]);
        assert_eq!(pieces("größerÄ"), ["größer", "Ä"]);
        assert_eq!(pieces("EUR"), ["EUR"]);
    }

    #[test]
    fn what_other_profiles_repeat_is_of_a_small_set() {
        assert!(most_bits("control", &["treatment"; 5]) < 1.0);
        assert!(most_bits("8472611234", &["8472619911"; 4]) < 1.0);
        assert!(most_bits("83", &["91", "120", "77"]) < 7.0);
        let zero = "00000000";
        assert!(most_bits("f81d4fae", &[zero, zero, zero, "0b5c1e36"]).is_infinite());
        assert!(most_bits("brave", &["purple", "quiet"]) <= WORD_BITS);
    }

    #[test]
    fn words_carry_few_bits_beside_one_other_or_none() {
        for others in [vec![], vec!["treatment"]] {
            assert!(most_bits("control", &others) <= WORD_BITS, "{others:?}");
        }
        assert!(most_bits("control", &["f81d4fae"]).is_infinite());
    }

    #[test]
    fn wording_has_at_most_one_short_number_or_character() {
        for text in ["control", "variantB", "exp42", "b", "ttfb", "EXP"] {
            assert!(is_wording(text), "{text}");
        }
        for text in ["42", "k3j9", "exp1234", "aBcDeFgH", "hjklqwvx", "f81d4fae", ""] {
            assert!(!is_wording(text), "{text}");
        }
    }

    #[test]
    fn plain_numbers_below_a_thousand_and_names_of_groups_are_buckets() {
        for text in ["0", "42", "999", "control", "variantB", "exp42b"] {
            assert!(is_bucket(text), "{text}");
        }
        for text in ["1000", "07", "3f", "a0", "k3j9", "f81d4fae", ""] {
            assert!(!is_bucket(text), "{text}");
        }
    }

    #[test]
    fn durations_are_known_by_the_last_word_of_their_names() {
        for name in ["lcp", "TTFB", "loadTime", "DOMContentLoaded", "perf.load", "first_byte"] {
            assert!(names_duration(name), "{name}");
        }
        for name in ["id", "seed", "upload", "weekend", "loadId", ""] {
            assert!(!names_duration(name), "{name}");
        }
    }
}
