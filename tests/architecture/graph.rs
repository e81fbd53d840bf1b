//! Who uses whom, and who uses whom in a circle.

use std::collections::{BTreeMap, BTreeSet};

/// Files by their path below the root, and the files that each uses.
#[derive(Clone, Default)]
pub struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    pub fn add(&mut self, from: &str, to: &str) {
        if from != to {
            self.0.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
    }

    pub fn edges(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(from, used)| used.iter().map(move |to| (&**from, &**to)))
    }

    /// Groups of files each of which reaches all others of its group.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let reached =
            self.0.keys().map(|file| (&**file, self.reach(file))).collect::<BTreeMap<_, _>>();
        let mut circles = BTreeSet::new();
        for (file, far) in &reached {
            let mut group = far
                .iter()
                .copied()
                .filter(|other| reached.get(other).is_some_and(|back| back.contains(file)))
                .collect::<Vec<_>>();
            group.sort_unstable();
            if !group.is_empty() {
                circles.insert(group);
            }
        }
        circles.into_iter().collect()
    }

    /// All that a file uses, and what those use, and so on.
    fn reach(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(next) = open.pop() {
            for used in self.0.get(next).into_iter().flatten() {
                if reached.insert(&**used) {
                    open.push(used);
                }
            }
        }
        reached
    }
}

#[test]
fn a_circle_is_found_however_long_it_is() {
    let mut graph = Graph::default();
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "e")] {
        graph.add(from, to);
    }
    assert_eq!(graph.circles(), [["a", "b", "c"]]);
}
