use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::bodies::Made;
use crate::infra::events::EventKind;
use crate::webhooks::store::waiting::DueDelivery;

/// The maximum age of a body when its post starts, because what may be disclosed is evaluated for every attempt. Choices
/// change only when their visitor is erased.
const FRESH: Duration = Duration::from_millis(100);
const FRESH_CHOICE: Duration = Duration::from_secs(1);
/// Bodies built ahead: more while all of them are used, fewer while some become stale.
const FIRST_AHEAD: usize = 8;
const MOST_AHEAD: usize = 128;

/// The due deliveries of an endpoint, in one queue per pixel: at most one delivery of a pixel is in flight.
pub struct PixelQueues {
    pixel_queues: Vec<PixelQueue>,
    /// Queues without a delivery in flight, in sending order.
    free: VecDeque<usize>,
    indexes: HashMap<String, usize>,
    ahead: usize,
}

#[derive(Default)]
struct PixelQueue {
    waiting: VecDeque<Waiting>,
    is_free: bool,
}

struct Waiting {
    due: DueDelivery,
    made: Option<(Instant, Made)>,
}

impl Waiting {
    fn is_fresh(&self, now: Instant) -> bool {
        let fresh = match EventKind::parse(&self.due.kind) {
            Some(EventKind::ChoiceRecorded) => FRESH_CHOICE,
            _ => FRESH,
        };
        self.made.as_ref().is_some_and(|(at, _)| now < *at + fresh)
    }
}

/// The position of a delivery: its queue, and the number of deliveries before it there.
pub type Spot = (usize, usize);

impl PixelQueues {
    pub fn new(due: Vec<DueDelivery>) -> Self {
        let mut pixel_queues = Self {
            pixel_queues: Vec::new(),
            free: VecDeque::new(),
            indexes: HashMap::new(),
            ahead: FIRST_AHEAD,
        };
        for due in due {
            let queue = pixel_queues.queue_of(&due.partition_key);
            pixel_queues.pixel_queues[queue].waiting.push_back(Waiting { due, made: None });
        }
        pixel_queues
    }

    fn queue_of(&mut self, partition_key: &str) -> usize {
        if let Some(&queue) = self.indexes.get(partition_key) {
            return queue;
        }
        let queue = self.pixel_queues.len();
        self.pixel_queues.push(PixelQueue { is_free: true, ..PixelQueue::default() });
        self.free.push_back(queue);
        self.indexes.insert(partition_key.to_owned(), queue);
        queue
    }

    pub fn has_next(&self) -> bool {
        !self.free.is_empty()
    }

    pub fn is_made(&self, now: Instant) -> bool {
        let next = self.free.front().and_then(|&queue| self.pixel_queues[queue].waiting.front());
        next.is_some_and(|next| next.is_fresh(now))
    }

    /// The deliveries whose bodies are to be built: the next one, and some that follow it.
    pub fn next_to_make(&mut self, now: Instant) -> Vec<Spot> {
        self.ahead = match self.forget_stale(now) {
            0 => (self.ahead * 2).min(MOST_AHEAD),
            stale => self.ahead.saturating_sub(stale).max(1),
        };
        let taken = (0..self.pixel_queues.len()).filter(|&queue| !self.pixel_queues[queue].is_free);
        let order = self.free.iter().copied().chain(taken).collect::<Vec<_>>();
        let longest =
            self.pixel_queues.iter().map(|queue| queue.waiting.len()).max().unwrap_or_default();
        let spots = (0..longest).flat_map(|depth| order.iter().map(move |&queue| (queue, depth)));
        let unmade = spots.filter(|&spot| self.at(spot).is_some_and(|it| it.made.is_none()));
        unmade.take(self.ahead).collect()
    }

    fn forget_stale(&mut self, now: Instant) -> usize {
        let waiting = self.pixel_queues.iter_mut().flat_map(|queue| &mut queue.waiting);
        let stale = waiting.filter(|it| it.made.is_some() && !it.is_fresh(now));
        stale.map(|it| it.made = None).count()
    }

    fn at(&self, (queue, depth): Spot) -> Option<&Waiting> {
        self.pixel_queues[queue].waiting.get(depth)
    }

    pub fn due_at(&self, spots: &[Spot]) -> Vec<&DueDelivery> {
        spots.iter().filter_map(|&spot| self.at(spot)).map(|waiting| &waiting.due).collect()
    }

    pub fn put(&mut self, spots: &[Spot], at: Instant, made: Vec<Made>) {
        for (&(queue, depth), made) in spots.iter().zip(made) {
            if let Some(waiting) = self.pixel_queues[queue].waiting.get_mut(depth) {
                waiting.made = Some((at, made));
            }
        }
    }

    /// The next delivery. Its queue is blocked until `give_back`.
    pub fn take(&mut self) -> Option<(DueDelivery, Made)> {
        let queue = &mut self.pixel_queues[self.free.pop_front()?];
        queue.is_free = false;
        let Waiting { due, made } = queue.waiting.pop_front()?;
        Some((due, made?.1))
    }

    /// Unblocks the queue: its delivery is no longer in flight.
    pub fn give_back(&mut self, partition_key: &str) {
        let Some(&queue) = self.indexes.get(partition_key) else { return };
        if !self.pixel_queues[queue].waiting.is_empty() {
            self.pixel_queues[queue].is_free = true;
            self.free.push_back(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn delivery(partition_key: &str, seq: i64) -> DueDelivery {
        DueDelivery {
            endpoint_id: Uuid::nil(),
            partition_key: partition_key.to_owned(),
            seq,
            event_id: Uuid::nil(),
            kind: "contact.created".to_owned(),
            subject: json!({}),
            occurred_at: DateTime::UNIX_EPOCH,
            attempts: 0,
            failing_since: None,
        }
    }

    fn pixel_queues(due: &[(&str, i64)]) -> PixelQueues {
        PixelQueues::new(
            due.iter().map(|&(partition_key, seq)| delivery(partition_key, seq)).collect(),
        )
    }

    fn make(pixel_queues: &mut PixelQueues, now: Instant) -> Vec<i64> {
        let spots = pixel_queues.next_to_make(now);
        let seqs = pixel_queues.due_at(&spots).iter().map(|due| due.seq).collect();
        let made = spots.iter().map(|_| Made::NotNeeded).collect();
        pixel_queues.put(&spots, now, made);
        seqs
    }

    #[test]
    fn a_pixel_has_one_delivery_under_way_and_those_in_order() {
        let mut pixel_queues = pixel_queues(&[("a", 1), ("a", 2), ("b", 3), ("a", 4)]);
        make(&mut pixel_queues, Instant::now());
        let mut take = |given_back: Option<&str>| {
            if let Some(partition_key) = given_back {
                pixel_queues.give_back(partition_key);
            }
            pixel_queues.take().map(|(due, _)| due.seq)
        };
        assert_eq!([take(None), take(None), take(None)], [Some(1), Some(3), None]);
        assert_eq!([take(Some("b")), take(Some("a")), take(None)], [None, Some(2), None]);
        assert_eq!([take(Some("a")), take(Some("a"))], [Some(4), None]);
    }

    #[test]
    fn bodies_are_made_for_those_that_are_next_in_every_queue() {
        let mut pixel_queues = pixel_queues(&[("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5)]);
        let now = Instant::now();
        assert!(pixel_queues.has_next() && !pixel_queues.is_made(now));
        assert_eq!(make(&mut pixel_queues, now), [1, 3, 2, 5, 4]);
        assert!(pixel_queues.is_made(now));
        assert_eq!(make(&mut pixel_queues, now), [0; 0], "all are made");
    }

    #[test]
    fn a_body_that_has_waited_is_made_anew_and_fewer_are_made_ahead() {
        let due = (0..100).map(|seq| ("a", seq)).collect::<Vec<_>>();
        let (mut pixel_queues, now) = (pixel_queues(&due), Instant::now());
        let first = make(&mut pixel_queues, now);
        assert_eq!(first.len(), 2 * FIRST_AHEAD);
        for _ in &first {
            assert!(pixel_queues.is_made(now));
            pixel_queues.take();
            pixel_queues.give_back("a");
        }
        assert!(!pixel_queues.is_made(now));
        assert_eq!(make(&mut pixel_queues, now).len(), 4 * FIRST_AHEAD, "all were used");
        let later = now + FRESH;
        assert!(!pixel_queues.is_made(later));
        assert_eq!(make(&mut pixel_queues, later)[..1], [16], "the one that is next");
        assert_eq!(make(&mut pixel_queues, later + FRESH).len(), 1);
    }
}
