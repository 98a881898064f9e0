//! Where the requests of each class go from each service, kept sparse.

use std::ops::Range;

use super::NetworkError;

/// From one service to another, for one class or for all of them alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The service that calls.
    pub from: usize,
    /// The service that is called.
    pub to: usize,
    /// The class this holds for; `None`: every class.
    pub class: Option<usize>,
    /// F_(from,to): the requests that go on to `to` for each that succeeds at `from`. Several of
    /// the same pair and class add up.
    pub share: f64,
}

/// The routing matrices F^p of all classes: one list of pairs, with a share for each class, in
/// order of the called service, and an index of the same in order of the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    nodes: usize,
    classes: usize,
    /// Edges into node i are `into[i]..into[i + 1]`.
    pub(super) into: Box<[usize]>,
    pub(super) source: Box<[u32]>,
    /// Edge e of class p: `share[e * classes + p]`.
    pub(super) share: Box<[f64]>,
    /// Edges out of node i are those that `leaving[out[i]..out[i + 1]]` names.
    out: Box<[usize]>,
    leaving: Box<[u32]>,
    target: Box<[u32]>,
}

impl Routing {
    /// For `nodes` services and `classes` classes.
    ///
    /// # Errors
    /// An edge that names a service or class that is not there, or a share that is negative or
    /// not finite, or more services or edges than 2^32.
    pub fn try_new(nodes: usize, classes: usize, edges: &[Edge]) -> Result<Self, NetworkError> {
        if u32::try_from(nodes).is_err() || u32::try_from(edges.len()).is_err() {
            return Err(NetworkError::TooLarge { nodes, edges: edges.len() });
        }
        for (n, edge) in edges.iter().enumerate() {
            let known = edge.from < nodes && edge.to < nodes;
            if !known || edge.class.is_some_and(|p| p >= classes) {
                return Err(NetworkError::UnknownEnd { edge: n, nodes, classes });
            }
            if !(edge.share >= 0.0 && edge.share.is_finite()) {
                return Err(NetworkError::BadShare { edge: n, found: edge.share });
            }
        }
        let mut order: Vec<usize> = (0..edges.len()).filter(|&n| edges[n].share > 0.0).collect();
        order.sort_by_key(|&n| (edges[n].to, edges[n].from));
        let mut into = vec![0; nodes + 1];
        let (mut source, mut target, mut share) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = None;
        for edge in order.into_iter().map(|n| &edges[n]) {
            if last != Some((edge.from, edge.to)) {
                last = Some((edge.from, edge.to));
                into[edge.to + 1] += 1;
                source.push(small(edge.from));
                target.push(small(edge.to));
                share.resize(share.len() + classes, 0.0);
            }
            let at = share.len() - classes;
            for (p, share) in share[at..].iter_mut().enumerate() {
                if edge.class.is_none_or(|class| class == p) {
                    *share += edge.share;
                }
            }
        }
        let mut out = vec![0; nodes + 1];
        for &from in &source {
            out[from as usize + 1] += 1;
        }
        for i in 0..nodes {
            into[i + 1] += into[i];
            out[i + 1] += out[i];
        }
        let mut next = out.clone();
        let mut leaving = vec![0; source.len()];
        for (e, &from) in source.iter().enumerate() {
            leaving[next[from as usize]] = small(e);
            next[from as usize] += 1;
        }
        Ok(Self {
            nodes,
            classes,
            into: into.into(),
            source: source.into(),
            share: share.into(),
            out: out.into(),
            leaving: leaving.into(),
            target: target.into(),
        })
    }

    /// The number of services.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The calling services of `node`, each with its shares by class.
    pub fn callers(&self, node: usize) -> impl Iterator<Item = (usize, &[f64])> {
        self.into(node).map(|e| (self.source[e] as usize, self.shares(e)))
    }

    /// The services that `node` calls, each with its shares by class.
    pub fn callees(&self, node: usize) -> impl Iterator<Item = (usize, &[f64])> {
        self.out(node).iter().map(|&e| (self.target[e as usize] as usize, self.shares(e as usize)))
    }

    /// Σ_j F^p_(node,j): the calls that follow a request of `class` that succeeds at `node`.
    #[must_use]
    pub fn row_sum(&self, node: usize, class: usize) -> f64 {
        self.callees(node).map(|(_, share)| share[class]).sum()
    }

    /// Whether all classes take the same routes.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.classes < 2 || self.share.chunks(self.classes).all(|s| s.iter().all(|x| *x == s[0]))
    }

    /// Takes a part `epsilon` off all calls of `class` out of `node`.
    pub(super) fn lower(&mut self, node: usize, class: usize, epsilon: f64) {
        for &e in &self.leaving[self.out[node]..self.out[node + 1]] {
            self.share[e as usize * self.classes + class] *= 1.0 - epsilon;
        }
    }

    pub(super) fn into(&self, node: usize) -> Range<usize> {
        self.into[node]..self.into[node + 1]
    }

    pub(super) fn caller(&self, edge: usize) -> usize {
        self.source[edge] as usize
    }

    pub(super) fn caller_index(&self, edge: usize) -> u32 {
        self.source[edge]
    }

    pub(super) fn out(&self, node: usize) -> &[u32] {
        &self.leaving[self.out[node]..self.out[node + 1]]
    }

    pub(super) fn shares(&self, edge: usize) -> &[f64] {
        &self.share[edge * self.classes..][..self.classes]
    }
}

/// Checked in `try_new`.
#[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 of each")]
fn small(index: usize) -> u32 {
    index as u32
}
