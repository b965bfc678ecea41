//! What is wished of a command line, turned into the fewest edits of single arguments; each argument keeps its place.
use std::collections::BTreeMap;

use super::line::same;
use super::pools;
use super::table::repeats;
use super::token::{Key, Token};

/// One thing that is wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The argument counts at boot: replaced where it stands, else added at the end.
    Set(Token),
    /// The argument is among those of its key.
    Add(Token),
    /// The arguments of this key are exactly these, in this order.
    Replace(Key, Vec<Token>),
    /// All of these stand on the line; refused where others of their key stand there too, since the wish does not say
    /// whether those stay.
    Among(Key, Vec<Token>),
    /// Huge page pools: ordered pairs of `hugepagesz` and `hugepages`.
    Pools(Vec<pools::Pool>),
    /// No argument of this key is left.
    AbsentKey(Key),
    /// No argument that says the same is left; others of its key stay.
    Absent(Token),
    /// Of its key this one stands last.
    Last(Token),
    /// Each argument once: repeats that have no effect go.
    Tidy,
}

/// Why a wish cannot be met by editing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A key that may repeat already stands there with other values, and the wish does not say whether they stay.
    Repeats {
        /// The key.
        key: Key,
        /// What stands there.
        present: Vec<Token>,
    },
    /// A part of the line comes from code or from an unreadable place, so that absence cannot be brought about.
    Unknown {
        /// The key that should be absent.
        key: Key,
    },
    /// A variable of the boot loader brings the key that should be absent.
    Brought {
        /// The key.
        key: Key,
        /// The variable, with its `$`.
        by: String,
    },
    /// `hugepages=N` without a size, where several pools could be meant.
    WhichPool {
        /// The sizes that are on the line.
        sizes: Vec<String>,
    },
}

/// One argument on the way from what stands to what is wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The argument; `None` where only code knows what stands here.
    pub token: Option<Token>,
    /// Its index among those that stood there; `None` for a new one.
    pub from: Option<usize>,
    /// Which of the concatenated parts it stands in: 0 comes first on the line.
    pub area: usize,
    /// Whether it surely stands there; false where it depends on code.
    pub sure: bool,
}

/// One edit of single arguments. Indices count what stood there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Another argument in the same place.
    Replace {
        /// Which one.
        at: usize,
        /// What stands there instead.
        with: Token,
    },
    /// Taken away.
    Remove {
        /// Which one.
        at: usize,
    },
    /// A new one right behind an old one.
    After {
        /// Behind which one.
        at: usize,
        /// The new one.
        new: Token,
    },
    /// A new one at the end of a part.
    Append {
        /// Which part.
        area: usize,
        /// The new one.
        new: Token,
    },
}

/// A command line while it is being edited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The arguments in boot order.
    pub slots: Vec<Slot>,
    /// The part that new arguments go to.
    pub home: usize,
    /// Whether the home part only counts: what stands elsewhere does not meet a wish and is taken away where it would
    /// win.
    pub home_only: bool,
    /// What variables of the boot loader hold (`$tuned_params`), by name with the `$`, where that is known.
    pub references: BTreeMap<String, Vec<Token>>,
}

impl Draft {
    /// A draft over arguments that surely stand there, all in one part.
    pub fn of(tokens: impl IntoIterator<Item = Token>) -> Self {
        let slots = tokens.into_iter().enumerate();
        let slots = slots.map(|(at, token)| Slot { token: Some(token), from: Some(at), area: 0, sure: true });
        Self { slots: slots.collect(), ..Self::default() }
    }

    /// Brings one wish about. The draft is unchanged where it cannot.
    pub fn meet(&mut self, wish: &Wish) -> Result<(), Trouble> {
        match wish {
            Wish::Set(token) => self.set(token),
            Wish::Add(token) => {
                if !self.tokens().any(|(_, slot, there)| slot.sure && same(there, token)) {
                    self.push(token.clone());
                }
            }
            Wish::Among(key, tokens) => self.among(key, tokens)?,
            Wish::Replace(key, tokens) => self.exactly(key, tokens)?,
            Wish::Pools(wanted) => pools::meet(self, wanted)?,
            Wish::AbsentKey(key) => {
                self.refuse_unknown(key)?;
                match key.as_str() {
                    "hugepagesz" => pools::take_away(self, None),
                    _ => self.drop_all(key, |_| true),
                }
            }
            Wish::Absent(token) => {
                self.refuse_unknown(&token.key())?;
                match token.key().as_str() {
                    "hugepagesz" => pools::take_away(self, Some(token)),
                    _ => self.drop_all(&token.key(), |there| same(there, token)),
                }
            }
            Wish::Last(token) => self.last(token),
            Wish::Tidy => self.tidy(),
        }
        Ok(())
    }

    /// The edits that lead from what stood there to the draft, in boot order. `stood` is what the draft was made of.
    pub fn ops(&self, stood: &[Slot]) -> Vec<Op> {
        let mut ops = Vec::new();
        for slot in stood {
            let Some(at) = slot.from else { continue };
            match self.slots.iter().find(|kept| kept.from == Some(at)) {
                None => ops.push(Op::Remove { at }),
                Some(Slot { token: Some(with), .. }) if slot.token.as_ref() != Some(with) => {
                    ops.push(Op::Replace { at, with: with.clone() });
                }
                Some(_) => {}
            }
        }
        for (place, slot) in self.slots.iter().enumerate() {
            let (None, Some(new)) = (slot.from, &slot.token) else { continue };
            let old = |other: &&Slot| other.area == slot.area && other.from.is_some();
            let before = self.slots[..place].iter().rev().find(old).and_then(|other| other.from);
            match (before, self.slots[place..].iter().find(old)) {
                (Some(at), Some(_)) => ops.push(Op::After { at, new: new.clone() }),
                _ => ops.push(Op::Append { area: slot.area, new: new.clone() }),
            }
        }
        ops
    }

    /// The known arguments with their places in the draft.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = (usize, &Slot, &Token)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(at, slot)| slot.token.as_ref().map(|token| (at, slot, token)))
    }

    /// Adds an argument at the end of the home part.
    pub fn push(&mut self, token: Token) {
        let at = self.slots.iter().rposition(|slot| slot.area <= self.home).map_or(0, |at| at + 1);
        self.slots.insert(at, Slot { token: Some(token), from: None, area: self.home, sure: true });
    }

    /// Adds an argument right behind another.
    pub fn insert_after(&mut self, at: usize, token: Token) {
        let area = self.slots[at].area;
        self.slots.insert(at + 1, Slot { token: Some(token), from: None, area, sure: true });
    }

    /// The places of a key's arguments that surely stand there and count for this wish.
    fn places(&self, key: &Key) -> Vec<usize> {
        let counts = |slot: &Slot| slot.sure && (!self.home_only || slot.area == self.home);
        self.tokens()
            .filter(|(_, slot, token)| counts(slot) && token.key() == *key)
            .map(|(at, ..)| at)
            .collect()
    }

    /// Whether what stands behind a place might hold the key unseen.
    fn clouded(&self, after: usize, key: &Key) -> bool {
        self.slots[after + 1..].iter().any(|slot| match &slot.token {
            None => true,
            Some(token) if token.is_reference() => self.held(token, key).is_some(),
            Some(token) => token.key() == *key && !slot.sure,
        })
    }

    /// Whether code in or behind a place might hold the key unseen.
    fn clouded_by_code(&self, from: usize, key: &Key) -> bool {
        self.slots[from..].iter().any(|slot| {
            slot.token
                .as_ref()
                .is_none_or(|token| !slot.sure && (token.key() == *key || token.is_reference()))
        })
    }

    /// The argument of a key that a variable of the boot loader brings.
    fn held(&self, reference: &Token, key: &Key) -> Option<&Token> {
        self.references.get(reference.raw())?.iter().rev().find(|token| token.key() == *key)
    }

    /// The argument of a key that wins at boot, and its place.
    pub fn winner(&self, key: &Key) -> Option<(usize, &Token)> {
        self.tokens().rev().find_map(|(at, _, token)| match token.is_reference() {
            true => self.held(token, key).map(|token| (at, token)),
            false => (token.key() == *key).then_some((at, token)),
        })
    }

    fn set(&mut self, wanted: &Token) {
        let key = wanted.key();
        let places = self.places(&key);
        let keep = places.last().copied().filter(|at| !self.clouded(*at, &key));
        if let Some((at, token)) = self.winner(&key)
            && same(token, wanted)
            && !self.clouded_by_code(at, &key)
            && (!self.home_only || self.slots[at].area == self.home)
        {
            return;
        }
        // A later part that says otherwise would win over the home part.
        let rival = |slot: &Slot| slot.sure && slot.token.as_ref().is_some_and(|token| token.key() == key);
        if let Some(at) = keep {
            self.slots[at].token = Some(wanted.clone());
        }
        let mut at = 0;
        self.slots.retain(|slot| {
            at += 1;
            Some(at - 1) == keep || !rival(slot)
        });
        if keep.is_none() {
            self.push(wanted.clone());
        }
    }

    fn among(&mut self, key: &Key, wanted: &[Token]) -> Result<(), Trouble> {
        let present: Vec<Token> =
            self.places(key).into_iter().filter_map(|at| self.slots[at].token.clone()).collect();
        let missing: Vec<&Token> =
            wanted.iter().filter(|token| !present.iter().any(|there| same(there, token))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if present.iter().any(|there| !wanted.iter().any(|token| same(there, token))) {
            return Err(Trouble::Repeats { key: key.clone(), present });
        }
        missing.into_iter().for_each(|token| self.push(token.clone()));
        Ok(())
    }

    fn exactly(&mut self, key: &Key, wanted: &[Token]) -> Result<(), Trouble> {
        self.refuse_unknown(key)?;
        let places = self.places(key);
        let present: Vec<&Token> = places.iter().filter_map(|at| self.slots[*at].token.as_ref()).collect();
        if present.len() == wanted.len() && present.iter().zip(wanted).all(|(one, other)| same(one, other)) {
            return Ok(());
        }
        for (at, token) in places.iter().zip(wanted) {
            self.slots[*at].token = Some(token.clone());
        }
        let (extra, missing) = (places.iter().skip(wanted.len()), wanted.iter().skip(places.len()));
        let mut behind = places.last().copied();
        for token in missing {
            match &mut behind {
                Some(at) => {
                    self.insert_after(*at, token.clone());
                    *at += 1;
                }
                None => self.push(token.clone()),
            }
        }
        extra.rev().for_each(|at| drop(self.slots.remove(*at)));
        Ok(())
    }

    fn refuse_unknown(&self, key: &Key) -> Result<(), Trouble> {
        let by = self.tokens().map(|(_, _, token)| token).find(|token| self.held(token, key).is_some());
        if let Some(by) = by {
            return Err(Trouble::Brought { key: key.clone(), by: by.raw().to_owned() });
        }
        let unknown = self.slots.iter().any(|slot| match &slot.token {
            None => true,
            Some(token) => !slot.sure && token.key() == *key,
        });
        match unknown {
            true => Err(Trouble::Unknown { key: key.clone() }),
            false => Ok(()),
        }
    }

    fn drop_all(&mut self, key: &Key, which: impl Fn(&Token) -> bool) {
        let meant = |token: &Token| token.key() == *key && which(token);
        self.slots.retain(|slot| !slot.token.as_ref().is_some_and(meant));
    }

    /// Turns the arguments of the key round among their own places until the wanted one is last, so that nothing else
    /// moves. `console=ttyS0` also finds `console=ttyS0,115200n8`.
    fn last(&mut self, wanted: &Token) {
        let places = self.places(&wanted.key());
        let device =
            |token: &Token| token.value().and_then(|value| value.split(',').next().map(str::to_owned));
        let token_at = |at: &usize| self.slots[*at].token.as_ref();
        let exact = places.iter().rposition(|at| token_at(at).is_some_and(|token| same(token, wanted)));
        let near =
            places.iter().rposition(|at| token_at(at).is_some_and(|token| device(token) == device(wanted)));
        let bare = wanted.value().is_some_and(|value| !value.contains(','));
        match exact.or(near.filter(|_| bare)) {
            None => self.push(wanted.clone()),
            Some(found) => {
                for pair in places[found..].windows(2) {
                    let moved = self.slots[pair[1]].token.clone();
                    let held = std::mem::replace(&mut self.slots[pair[0]].token, moved);
                    self.slots[pair[1]].token = held;
                }
            }
        }
    }

    fn tidy(&mut self) {
        let mut keep = vec![true; self.slots.len()];
        for (at, slot, token) in self.tokens() {
            let key = token.key();
            if !slot.sure || token.is_reference() || pools::is_part(&key) {
                continue;
            }
            let repeated = self.tokens().any(|(later, other, there)| {
                later > at && other.sure && there.key() == key && (!repeats(&key) || same(there, token))
            });
            keep[at] = !repeated;
        }
        let mut keep = keep.into_iter();
        self.slots.retain(|_| keep.next().unwrap_or(true));
    }
}
