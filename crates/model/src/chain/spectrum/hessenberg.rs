//! Eigenvalues of a small matrix that is zero below its first subdiagonal.

use core::ops::{Add, Div, Mul, Sub};

/// Steps per eigenvalue; two or three are the rule.
const MOST_STEPS: usize = 200;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    pub(super) fn size(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    fn conjugate(self) -> Self {
        Self::new(self.re, -self.im)
    }

    fn times(self, factor: f64) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }

    fn root(self) -> Self {
        let size = self.size();
        let re = (0.5 * (size + self.re)).max(0.0).sqrt();
        let im = (0.5 * (size - self.re)).max(0.0).sqrt();
        Self::new(re, if self.im < 0.0 { -im } else { im })
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let size = other.size();
        (self * other.conjugate().times(1.0 / size)).times(1.0 / size)
    }
}

/// The eigenvalues, by shifted QR steps; `None` if they do not settle.
pub(super) fn eigenvalues(mut h: Vec<Vec<Complex>>) -> Option<Vec<Complex>> {
    let mut found = Vec::with_capacity(h.len());
    let mut end = h.len();
    let mut steps = 0;
    while end > 0 {
        let last = end - 1;
        let mut first = last;
        while first > 0 {
            let beside = h[first][first].size() + h[first - 1][first - 1].size();
            if h[first][first - 1].size() <= f64::EPSILON * beside {
                break;
            }
            first -= 1;
        }
        if first == last {
            found.push(h[last][last]);
            end -= 1;
            steps = 0;
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        // Every tenth step takes an odd shift, in case the usual one goes in circles.
        let shift = if steps % 10 == 0 {
            h[last][last] + Complex::new(h[last][last - 1].size(), 0.0)
        } else {
            nearer_of_corner(&h, last)
        };
        step(&mut h, first, last, shift);
    }
    Some(found)
}

/// The eigenvalue of the last two by two corner that is nearer to its last entry.
fn nearer_of_corner(h: &[Vec<Complex>], last: usize) -> Complex {
    let (a, d) = (h[last - 1][last - 1], h[last][last]);
    let half = (a - d).times(0.5);
    let root = (half * half + h[last - 1][last] * h[last][last - 1]).root();
    let middle = (a + d).times(0.5);
    let (one, other) = (middle + root, middle - root);
    if (one - d).size() <= (other - d).size() { one } else { other }
}

fn step(h: &mut [Vec<Complex>], first: usize, last: usize, shift: Complex) {
    for (i, row) in h.iter_mut().enumerate().take(last + 1).skip(first) {
        row[i] = row[i] - shift;
    }
    let mut turns = Vec::with_capacity(last - first);
    for k in first..last {
        let (a, b) = (h[k][k], h[k + 1][k]);
        let length = libm::hypot(a.size(), b.size());
        let (c, s) = if length > 0.0 {
            (a.times(1.0 / length), b.times(1.0 / length))
        } else {
            (Complex::new(1.0, 0.0), Complex::default())
        };
        let (above, below) = h.split_at_mut(k + 1);
        for (x, y) in above[k][k..=last].iter_mut().zip(&mut below[0][k..=last]) {
            (*x, *y) = (c.conjugate() * *x + s.conjugate() * *y, c * *y - s * *x);
        }
        turns.push((c, s));
    }
    for (k, (c, s)) in (first..last).zip(turns) {
        for row in &mut h[first..=(k + 1).min(last)] {
            let (x, y) = (row[k], row[k + 1]);
            row[k] = x * c + y * s;
            row[k + 1] = y * c.conjugate() - x * s.conjugate();
        }
    }
    for (i, row) in h.iter_mut().enumerate().take(last + 1).skip(first) {
        row[i] = row[i] + shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_companion_matrix_gives_the_roots_of_its_polynomial() {
        // (x - 1)(x - 2)(x² + 1) = x⁴ - 3x³ + 3x² - 3x + 2.
        let mut h = vec![vec![Complex::default(); 4]; 4];
        for (j, c) in [3.0, -3.0, 3.0, -2.0].into_iter().enumerate() {
            h[0][j] = Complex::new(c, 0.0);
        }
        for i in 1..4 {
            h[i][i - 1] = Complex::new(1.0, 0.0);
        }
        let found = eigenvalues(h).unwrap();
        for (re, im) in [(1.0, 0.0), (2.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
            let root = Complex::new(re, im);
            assert!(found.iter().any(|z| (*z - root).size() < 1e-13), "{re} {im} {found:?}");
        }
    }

    #[test]
    fn what_is_no_number_ends_too() {
        let h = vec![vec![Complex::new(f64::NAN, 0.0); 3]; 3];
        assert!(eigenvalues(h).is_none());
    }
}
