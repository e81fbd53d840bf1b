//! Scheduling of deliveries, in parallel or in sequence.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::bodies::Made;
use crate::webhooks::store::waiting::DueDelivery;

/// Maximum age of a body when its post starts: about as long as a post is under way. Every attempt evaluates
/// anew whether a person's data may be disclosed.
const FRESH: Duration = Duration::from_millis(100);
/// Bodies built ahead: more while all of them are used, fewer while some become stale.
const FIRST_AHEAD: usize = 8;
const MOST_AHEAD: usize = 128;

/// The due deliveries of an endpoint, in one queue per pixel: at most one delivery of a pixel is in flight.
pub struct Lanes {
    lanes: Vec<Lane>,
    /// Queues without a delivery in flight, in sending order.
    free: VecDeque<usize>,
    places: HashMap<String, usize>,
    ahead: usize,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Waiting>,
    is_free: bool,
}

struct Waiting {
    due: DueDelivery,
    /// Its body, and when that was built.
    made: Option<(Instant, Made)>,
}

impl Waiting {
    fn is_fresh(&self, now: Instant) -> bool {
        self.made.as_ref().is_some_and(|(at, _)| now < *at + FRESH)
    }
}

/// The position of a delivery: its queue, and the number of deliveries before it there.
pub type Spot = (usize, usize);

impl Lanes {
    /// From deliveries in the order of their events.
    pub fn new(due: Vec<DueDelivery>) -> Self {
        let mut lanes = Self {
            lanes: Vec::new(),
            free: VecDeque::new(),
            places: HashMap::new(),
            ahead: FIRST_AHEAD,
        };
        for due in due {
            let lane = lanes.lane_of(&due.place);
            lanes.lanes[lane].waiting.push_back(Waiting { due, made: None });
        }
        lanes
    }

    fn lane_of(&mut self, place: &str) -> usize {
        if let Some(&lane) = self.places.get(place) {
            return lane;
        }
        let lane = self.lanes.len();
        self.lanes.push(Lane { is_free: true, ..Lane::default() });
        self.free.push_back(lane);
        self.places.insert(place.to_owned(), lane);
        lane
    }

    /// Whether a delivery may be sent now.
    pub fn has_next(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether the body of the next delivery is ready and fresh.
    pub fn is_made(&self, now: Instant) -> bool {
        let next = self.free.front().and_then(|&lane| self.lanes[lane].waiting.front());
        next.is_some_and(|next| next.is_fresh(now))
    }

    /// The next delivery, and others that follow soon, whose bodies are to be built.
    pub fn next_to_make(&mut self, now: Instant) -> Vec<Spot> {
        self.ahead = match self.forget_stale(now) {
            0 => (self.ahead * 2).min(MOST_AHEAD),
            stale => self.ahead.saturating_sub(stale).max(1),
        };
        let taken = (0..self.lanes.len()).filter(|&lane| !self.lanes[lane].is_free);
        let order = self.free.iter().copied().chain(taken).collect::<Vec<_>>();
        let longest = self.lanes.iter().map(|lane| lane.waiting.len()).max().unwrap_or_default();
        let spots = (0..longest).flat_map(|depth| order.iter().map(move |&lane| (lane, depth)));
        let unmade = spots.filter(|&spot| self.at(spot).is_some_and(|it| it.made.is_none()));
        unmade.take(self.ahead).collect()
    }

    /// Drops stale bodies; returns their number.
    fn forget_stale(&mut self, now: Instant) -> usize {
        let waiting = self.lanes.iter_mut().flat_map(|lane| &mut lane.waiting);
        let stale = waiting.filter(|it| it.made.is_some() && !it.is_fresh(now));
        stale.map(|it| it.made = None).count()
    }

    fn at(&self, (lane, depth): Spot) -> Option<&Waiting> {
        self.lanes[lane].waiting.get(depth)
    }

    /// The deliveries at these positions.
    pub fn due_at(&self, spots: &[Spot]) -> Vec<&DueDelivery> {
        spots.iter().filter_map(|&spot| self.at(spot)).map(|waiting| &waiting.due).collect()
    }

    /// Stores the bodies of the deliveries at these positions, with the time of their state.
    pub fn put(&mut self, spots: &[Spot], at: Instant, made: Vec<Made>) {
        for (&(lane, depth), made) in spots.iter().zip(made) {
            if let Some(waiting) = self.lanes[lane].waiting.get_mut(depth) {
                waiting.made = Some((at, made));
            }
        }
    }

    /// The next delivery. Its queue is blocked until `give_back`.
    pub fn take(&mut self) -> Option<(DueDelivery, Made)> {
        let lane = &mut self.lanes[self.free.pop_front()?];
        lane.is_free = false;
        let Waiting { due, made } = lane.waiting.pop_front()?;
        Some((due, made?.1))
    }

    /// Unblocks the queue: its delivery is no longer in flight.
    pub fn give_back(&mut self, place: &str) {
        let Some(&lane) = self.places.get(place) else { return };
        if !self.lanes[lane].waiting.is_empty() {
            self.lanes[lane].is_free = true;
            self.free.push_back(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn delivery(place: &str, seq: i64) -> DueDelivery {
        DueDelivery {
            place: place.to_owned(),
            seq,
            event_id: Uuid::nil(),
            kind: "test".to_owned(),
            subject: json!({}),
            occurred_at: DateTime::UNIX_EPOCH,
            attempts: 0,
            failing_since: None,
        }
    }

    fn lanes(due: &[(&str, i64)]) -> Lanes {
        Lanes::new(due.iter().map(|&(place, seq)| delivery(place, seq)).collect())
    }

    /// The numbers of the deliveries whose bodies are built now.
    fn make(lanes: &mut Lanes, now: Instant) -> Vec<i64> {
        let spots = lanes.next_to_make(now);
        let seqs = lanes.due_at(&spots).iter().map(|due| due.seq).collect();
        let made = spots.iter().map(|_| Made::NotNeeded).collect();
        lanes.put(&spots, now, made);
        seqs
    }

    #[test]
    fn a_pixel_has_one_delivery_under_way_and_those_in_order() {
        let mut lanes = lanes(&[("a", 1), ("a", 2), ("b", 3), ("a", 4)]);
        make(&mut lanes, Instant::now());
        let mut take = |given_back: Option<&str>| {
            if let Some(place) = given_back {
                lanes.give_back(place);
            }
            lanes.take().map(|(due, _)| due.seq)
        };
        assert_eq!([take(None), take(None), take(None)], [Some(1), Some(3), None]);
        assert_eq!([take(Some("b")), take(Some("a")), take(None)], [None, Some(2), None]);
        assert_eq!([take(Some("a")), take(Some("a"))], [Some(4), None]);
    }

    #[test]
    fn bodies_are_made_for_those_that_are_next_in_every_lane() {
        let mut lanes = lanes(&[("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5)]);
        let now = Instant::now();
        assert!(lanes.has_next() && !lanes.is_made(now));
        assert_eq!(make(&mut lanes, now), [1, 3, 2, 5, 4]);
        assert!(lanes.is_made(now));
        assert_eq!(make(&mut lanes, now), [0; 0], "all are made");
    }

    #[test]
    fn a_body_that_has_waited_is_made_anew_and_fewer_are_made_ahead() {
        let due = (0..100).map(|seq| ("a", seq)).collect::<Vec<_>>();
        let (mut lanes, now) = (lanes(&due), Instant::now());
        let first = make(&mut lanes, now);
        assert_eq!(first.len(), 2 * FIRST_AHEAD);
        for _ in &first {
            assert!(lanes.is_made(now));
            lanes.take();
            lanes.give_back("a");
        }
        assert!(!lanes.is_made(now));
        assert_eq!(make(&mut lanes, now).len(), 4 * FIRST_AHEAD, "all were used");
        let later = now + FRESH;
        assert!(!lanes.is_made(later));
        assert_eq!(make(&mut lanes, later)[..1], [16], "the one that is next");
        assert_eq!(make(&mut lanes, later + FRESH).len(), 1);
    }
}
