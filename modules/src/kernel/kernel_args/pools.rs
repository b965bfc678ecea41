//! Huge page pools on the command line: `hugepagesz=` names a size, the `hugepages=` behind it its count.
use super::amend::{Draft, Trouble};
use super::line::Line;
use super::memparse;
use super::token::{Inexpressible, Key, Token};
use std::collections::BTreeMap;

/// One wished pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The `hugepagesz` argument; `None` for a bare `hugepages=N`, which speaks of the default size or of the only pool.
    pub size: Option<Token>,
    /// The `hugepages` argument; `None` where the size alone is named.
    pub count: Option<Token>,
}

/// Whether a key is one half of a pair.
pub fn is_part(key: &Key) -> bool {
    matches!(key.as_str(), "hugepages" | "hugepagesz")
}

/// Pairs the halves up in the order given: each `hugepages` belongs to the `hugepagesz` right before it.
pub fn pair(tokens: &[Token]) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for token in tokens {
        match (token.key().as_str(), pools.last_mut()) {
            ("hugepagesz", _) => pools.push(Pool { size: Some(token.clone()), count: None }),
            ("hugepages", Some(pool)) if pool.count.is_none() => pool.count = Some(token.clone()),
            ("hugepages", _) => pools.push(Pool { size: None, count: Some(token.clone()) }),
            _ => {}
        }
    }
    pools
}

/// The pages that a line reserves: bytes of a page, and how many. `default` is the size that a bare `hugepages` means
/// where the line names none.
pub fn counted(line: &Line, default: u64) -> BTreeMap<u64, u64> {
    let named = line.last(&Key::of("default_hugepagesz")).and_then(|token| bytes(Some(token)));
    let default = named.unwrap_or(default);
    let mut counts = BTreeMap::new();
    for pool in pair(&line.args) {
        let size = if pool.size.is_some() { bytes(pool.size.as_ref()) } else { Some(default) };
        let count = pool.count.as_ref().and_then(Token::value).map(pages);
        // The kernel ignores a size that is named again.
        if let (Some(size), Some(count)) = (size, count) {
            counts.entry(size).or_insert(count);
        }
    }
    counts
}

/// `64`, or by node `0:32,1:32`.
fn pages(text: &str) -> u64 {
    let of = |part: &str| part.rsplit(':').next().and_then(|count| count.trim().parse::<u64>().ok());
    text.split(',').filter_map(of).fold(0, u64::saturating_add)
}

/// The pair of one pool: `hugepagesz=1G hugepages=64`.
pub fn of(page_size: &str, count: &str) -> Result<Pool, Inexpressible> {
    let (size, count) = (Token::new("hugepagesz", Some(page_size))?, Token::new("hugepages", Some(count))?);
    Ok(Pool { size: Some(size), count: Some(count) })
}

/// One pool as it stands: the places of its halves in the draft.
struct Standing {
    size: Option<usize>,
    count: Option<usize>,
}

fn standing(draft: &Draft) -> Vec<Standing> {
    let mut pools: Vec<Standing> = Vec::new();
    for (at, slot, token) in draft.tokens() {
        if !slot.sure {
            continue;
        }
        match (token.key().as_str(), pools.last_mut()) {
            ("hugepagesz", _) => pools.push(Standing { size: Some(at), count: None }),
            ("hugepages", Some(pool)) if pool.count.is_none() => pool.count = Some(at),
            ("hugepages", _) => pools.push(Standing { size: None, count: Some(at) }),
            _ => {}
        }
    }
    pools
}

fn bytes(token: Option<&Token>) -> Option<u64> {
    token.and_then(Token::value).and_then(memparse::bytes)
}

/// Brings wished pools about. A pool is known by its size; pools of other sizes stay.
pub(super) fn meet(draft: &mut Draft, wanted: &[Pool]) -> Result<(), Trouble> {
    wanted.iter().try_for_each(|pool| match &pool.size {
        Some(size) => {
            meet_sized(draft, size, pool.count.as_ref());
            Ok(())
        }
        None => pool.count.as_ref().map_or(Ok(()), |count| meet_bare(draft, count)),
    })
}

/// Takes a pool away, both halves of it; all pools with a size where none is named.
pub(super) fn take_away(draft: &mut Draft, size: Option<&Token>) {
    let meant = |at: usize| {
        let there = draft.slots[at].token.as_ref();
        size.is_none_or(|size| there.is_some_and(|there| super::line::same(there, size)))
    };
    let pools = standing(draft);
    let gone = pools.iter().filter(|pool| pool.size.is_some_and(meant));
    let mut places: Vec<usize> = gone.flat_map(|pool| [pool.size, pool.count]).flatten().collect();
    places.sort_unstable();
    places.into_iter().rev().for_each(|at| drop(draft.slots.remove(at)));
}

fn meet_sized(draft: &mut Draft, size: &Token, count: Option<&Token>) {
    let there = standing(draft);
    let token = |at: usize| draft.slots[at].token.as_ref();
    let same_size = |pool: &&Standing| {
        pool.size
            .and_then(token)
            .is_some_and(|there| bytes(Some(there)) == bytes(Some(size)) || there == size)
    };
    // The kernel ignores a size that is named again, so the first pair of a size is the one that counts.
    let found = there.iter().find(same_size).map(|pool| (pool.size, pool.count));
    match (found, count) {
        (Some(_), None) => {}
        (Some((_, Some(at))), Some(count)) => replace(draft, at, count),
        (Some((Some(at), None)), Some(count)) => draft.insert_after(at, count.clone()),
        (Some((None, None)), Some(_)) => {}
        (None, _) => {
            let default = Key::of("default_hugepagesz");
            let behind = there.last().and_then(|pool| pool.count.or(pool.size));
            let behind = behind.or_else(|| {
                draft.tokens().find(|(_, slot, token)| slot.sure && token.key() == default).map(|(at, ..)| at)
            });
            let pair = [Some(size), count].into_iter().flatten().cloned();
            match behind {
                Some(at) => pair.enumerate().for_each(|(step, token)| draft.insert_after(at + step, token)),
                None => pair.for_each(|token| draft.push(token)),
            }
        }
    }
}

fn meet_bare(draft: &mut Draft, count: &Token) -> Result<(), Trouble> {
    let there = standing(draft);
    match there.as_slice() {
        [] => draft.push(count.clone()),
        [Standing { count: Some(at), .. }] => replace(draft, *at, count),
        [Standing { size: Some(at), count: None }] => draft.insert_after(*at, count.clone()),
        many => {
            let sizes =
                many.iter().filter_map(|pool| pool.size).filter_map(|at| draft.slots[at].token.as_ref());
            return Err(Trouble::WhichPool { sizes: sizes.map(|size| size.raw().to_owned()).collect() });
        }
    }
    Ok(())
}

fn replace(draft: &mut Draft, at: usize, count: &Token) {
    let slot = &mut draft.slots[at];
    if slot.token.as_ref().is_none_or(|there| !super::line::same(there, count)) {
        slot.token = Some(count.clone());
    }
}
