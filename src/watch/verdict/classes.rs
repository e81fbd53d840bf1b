//! The kinds of characters and words of which values are made, and the bits that these can carry.

/// The bits of a word: as many as a list of two thousand words has.
const WORD_BITS: f64 = 11.0;

pub fn character_bits(characters: &[char]) -> f64 {
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

/// The most bits that a text can carry, from what the same place contains in other profiles.
pub fn most_bits(text: &str, others: &[&str]) -> f64 {
    let mut most = of_repeated(text, others);
    if others.len() >= 2 && is_word(text) && others.iter().all(|other| is_word(other)) {
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
    let repeated = (0..alike.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    let repeated = repeated.filter(|&(one, other)| alike[one] == alike[other]).count();
    set_bits(alike.len(), repeated)
}

/// The bits of a set, by the number of texts that were taken from it and the number of equal pairs among them.
#[allow(clippy::cast_precision_loss, reason = "a few profiles")]
pub fn set_bits(taken: usize, equal_pairs: usize) -> f64 {
    if taken < 3 || equal_pairs == 0 {
        return f64::INFINITY;
    }
    ((taken * (taken - 1) / 2) as f64 / equal_pairs as f64).log2()
}

/// Whether it is one character, repeated: the value of something that is not set.
fn is_monotonous(text: &str) -> bool {
    text.chars().all(|character| text.starts_with(character))
}

fn small_number(text: &str) -> Option<u32> {
    let is_plain = text.len() <= 6 && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Whether it could be a word of a language, by its vowels.
fn is_word(text: &str) -> bool {
    let is_cased = text.chars().skip(1).all(|c| c.is_ascii_lowercase())
        || text.chars().all(|c| c.is_ascii_uppercase());
    if !is_cased || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    let is_vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let vowels = text.chars().filter(|&c| is_vowel(c)).count();
    let longest = text.split(is_vowel).map(str::len).max().unwrap_or(0);
    (2..=16).contains(&text.len()) && longest <= 4 && vowels * 5 >= text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_random_letters() {
        for word in ["control", "treatment", "withdrawn", "Original", "off", "EUR"] {
            assert!(is_word(word), "{word}");
        }
        for text in ["xkcdqwrtz", "aBcDeF", "a1b2", "hjklqwvx", ""] {
            assert!(!is_word(text), "{text}");
        }
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
}
