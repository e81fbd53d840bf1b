use super::*;

fn watch(role: Role) -> ServerWatch {
    ServerWatch::new("postgres://nobody@localhost/nothing".parse().unwrap(), role)
}

fn report(started_at: i64, read_only: bool, in_recovery: bool) -> ServerReport {
    let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
    let (started_at, now) = (at(started_at), at(2_000_000_000));
    ServerReport { in_recovery, read_only, started_at, now, is_distributed: false }
}

fn generations(watch: &ServerWatch, reports: &[(i64, bool, bool)]) -> Vec<u64> {
    let after = reports.iter().map(|&(started_at, read_only, in_recovery)| {
        watch.record_report(&report(started_at, read_only, in_recovery), Instant::now(), &[]);
        watch.generation()
    });
    after.collect()
}

#[test]
fn another_server_or_one_that_was_restarted_begins_a_generation() {
    let reports = [(1, false, false), (1, false, false), (2, false, false), (1, false, false)];
    assert_eq!(generations(&watch(Role::Primary), &reports), [0, 0, 1, 2]);
}

#[test]
fn a_server_that_stops_taking_writes_begins_one_generation_however_often_it_is_asked() {
    for (read_only, in_recovery) in [(true, false), (true, true), (false, true)] {
        let watch = watch(Role::Primary);
        let refused = (1, read_only, in_recovery);
        let reports = [(1, false, false), refused, refused, (1, false, false)];
        assert_eq!(generations(&watch, &reports), [0, 1, 1, 1]);
        assert_eq!(generations(&watch, &[refused, (2, false, false)]), [2, 3]);
    }
}

#[test]
fn a_replica_may_be_in_recovery_but_not_another_server() {
    let reports = [(1, true, true), (1, false, false), (1, true, true), (2, true, true)];
    assert_eq!(generations(&watch(Role::Replica), &reports), [0, 0, 0, 1]);
}

#[test]
fn connections_from_before_a_change_are_outdated() {
    let watch = watch(Role::Primary);
    assert!(!watch.is_outdated(Duration::from_secs(60)));
    generations(&watch, &[(1, false, false), (2, false, false)]);
    assert!(watch.is_outdated(Duration::from_secs(60)));
    std::thread::sleep(Duration::from_millis(2));
    assert!(!watch.is_outdated(Duration::ZERO));
}
