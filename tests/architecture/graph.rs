//! Dependencies between files, and their cycles.

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

    /// The longest chain of files each of which uses the next, among those that `is_counted` accepts.
    pub fn longest_chain(&self, is_counted: impl Fn(&str) -> bool) -> Vec<&str> {
        let mut known = BTreeMap::new();
        let files = self.0.keys().map(|file| &**file).filter(|file| is_counted(file));
        let chains = files.map(|file| self.chain_from(file, &is_counted, &mut known));
        chains.max_by_key(Vec::len).unwrap_or_default()
    }

    fn chain_from<'a>(
        &'a self,
        file: &'a str,
        is_counted: &impl Fn(&str) -> bool,
        known: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Vec<&'a str> {
        if let Some(chain) = known.get(file) {
            return chain.clone();
        }
        // A circle, which another test refuses, ends here.
        known.insert(file, Vec::new());
        let used = self.0.get(file).into_iter().flatten().filter(|used| is_counted(used));
        let rest = used.map(|used| self.chain_from(used, is_counted, known)).max_by_key(Vec::len);
        let chain = [vec![file], rest.unwrap_or_default()].concat();
        known.insert(file, chain.clone());
        chain
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

#[test]
fn the_longest_chain_ends_where_files_are_not_counted() {
    let mut graph = Graph::default();
    for (from, to) in [("a", "b"), ("b", "c"), ("a", "d"), ("c", "e"), ("x", "a")] {
        graph.add(from, to);
    }
    assert_eq!(graph.longest_chain(|file| "abcd".contains(file)), ["a", "b", "c"]);
}
