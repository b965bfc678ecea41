//! The order in which a play takes its hosts.
use super::Inventory;
use super::model::HostId;
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;

/// In what order a play takes its hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As the inventory has them.
    #[default]
    Inventory,
    /// The last first.
    ReverseInventory,
    /// By name.
    Sorted,
    /// By name, the last first.
    ReverseSorted,
    /// By chance that a seed repeats: the plan must be the same when it is made again.
    Shuffle {
        /// Equal seeds give equal orders.
        seed: u64,
    },
}

impl Order {
    /// The order that a play's `order:` names; `seed` is taken for `shuffle`.
    ///
    /// # Errors
    /// A word that names none.
    pub fn from_word(word: &str, seed: u64, span: Option<Span>) -> Result<Self, Problems> {
        const WORDS: [&str; 5] = ["inventory", "reverse_inventory", "sorted", "reverse_sorted", "shuffle"];
        Ok(match word {
            "inventory" => Self::Inventory,
            "reverse_inventory" => Self::ReverseInventory,
            "sorted" => Self::Sorted,
            "reverse_sorted" => Self::ReverseSorted,
            "shuffle" => Self::Shuffle { seed },
            other => {
                let help = did_you_mean(other, WORDS)
                    .map_or_else(|| WORDS.join(", "), |near| format!("did you mean `{near}`?"));
                let problem = Diagnostic::error(format!("`{other}` is no order of hosts"), span);
                return Err(vec![problem.help(help)]);
            }
        })
    }
}

impl Inventory {
    /// Brings hosts into the order that a play wants.
    pub fn order(&self, hosts: &mut [HostId], order: Order) {
        match order {
            Order::Inventory => {}
            Order::ReverseInventory => hosts.reverse(),
            Order::Sorted => hosts.sort_by(|a, b| self.host_name(*a).cmp(self.host_name(*b))),
            Order::ReverseSorted => hosts.sort_by(|a, b| self.host_name(*b).cmp(self.host_name(*a))),
            Order::Shuffle { seed } => {
                let mut state = seed;
                for at in (1..hosts.len()).rev() {
                    hosts.swap(at, (split_mix(&mut state) % (at as u64 + 1)) as usize);
                }
            }
        }
    }
}

/// The next number of the SplitMix64 sequence (Steele, Lea, Flood 2014): the same on every machine, for ever.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
