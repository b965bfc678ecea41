//! Which changes are on in which trial: two-level screening designs, folded over.
//!
//! Source: R. L. Plackett and J. P. Burman, "The design of optimum multifactorial experiments", Biometrika 33 (1946), for
//! the rows; G. E. P. Box and K. B. Wilson (1951) for the fold-over, by which no pair of changes that depend on each other
//! is taken for the effect of a third.

/// The first rows of the designs, by their number of trials; the others are its cyclic shifts and one with nothing on.
const ROWS: [(usize, &str); 6] = [
    (4, "++-"),
    (8, "+++-+--"),
    (12, "++-+++---+-"),
    (16, "++++-+-++--+---"),
    (20, "++--++++-+-+----++-"),
    (24, "+++++-+-++--++--+-+----"),
];

/// The most changes that a design can tell apart.
pub const MOST: usize = 23;

/// Pairs of trials for so many changes: which of them are on in the first of the pair; in the second the others are.
/// None where there are none, or more than [`MOST`].
pub fn pairs(changes: usize) -> Option<Vec<Vec<bool>>> {
    if changes == 0 {
        return None;
    }
    let (trials, row) = ROWS.into_iter().find(|(trials, _)| changes < *trials)?;
    let signs: Vec<bool> = row.chars().map(|sign| sign == '+').collect();
    let shifted = |by: usize| (0..changes).map(|column| signs[(column + by) % signs.len()]).collect();
    let mut rows: Vec<Vec<bool>> = (0..trials - 1).map(shifted).collect();
    rows.push(vec![false; changes]);
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_on_as_often_as_off_beside_every_other() {
        for changes in 1..=MOST {
            let rows = pairs(changes).unwrap();
            assert!(rows.len() > changes);
            let sign = |row: &[bool], at: usize| if row[at] { 1_i32 } else { -1 };
            for one in 0..changes {
                for other in 0..one {
                    let sum: i32 = rows.iter().map(|row| sign(row, one) * sign(row, other)).sum();
                    assert_eq!(sum, 0, "{changes} changes: {one} and {other}");
                }
            }
            assert!(rows.last().unwrap().iter().all(|on| !on), "nothing beside all of them");
        }
        assert_eq!((pairs(0), pairs(24)), (None, None));
    }
}
