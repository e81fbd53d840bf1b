//! Extends observations by the time that the browser waited for a processor, so that a slow page does not seem silent.

use std::time::Duration;

/// The longest time by which an observation is extended: four times the usual one.
pub const EXTENSION: Duration = Duration::from_secs(16);

/// The remaining time of an observation after `elapsed`, of which `lost` does not count. Fails if the maximum extension
/// does not suffice.
pub fn rest(time: Duration, elapsed: Duration, lost: Duration) -> Result<Duration, String> {
    let rest = (time + lost).saturating_sub(elapsed);
    let possible = (time + EXTENSION).saturating_sub(elapsed);
    if possible.is_zero() && !rest.is_zero() {
        let lost = lost.as_secs_f64();
        return Err(format!("the machine was too busy: the browser waited {lost:.0} s to run"));
    }
    Ok(rest.min(possible))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_is_extended_by_what_was_lost_up_to_a_bound() {
        let ms = Duration::from_millis;
        let rest = |elapsed, lost| rest(ms(4000), ms(elapsed), ms(lost));
        assert_eq!(rest(0, 0), Ok(ms(4000)));
        assert_eq!(rest(4000, 0), Ok(ms(0)));
        assert_eq!(rest(4000, 2500), Ok(ms(2500)));
        assert_eq!(rest(6500, 2500), Ok(ms(0)));
        assert_eq!(rest(6500, 3000), Ok(ms(500)));
        // At most 20 s in total, and only if that suffices.
        assert_eq!(rest(18_000, 17_000), Ok(ms(2000)));
        assert_eq!(rest(20_000, 16_000), Ok(ms(0)));
        let busy = "the machine was too busy: the browser waited 17 s to run";
        assert_eq!(rest(20_000, 17_000), Err(busy.to_owned()));
    }
}
