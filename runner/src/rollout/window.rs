//! When a rollout may go forward: hours of days, in the controller's time. Pure.
use crate::playbook::rollout::{Day, TimeWindow};

/// A moment of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The day.
    pub day: Day,
    /// Minutes since midnight.
    pub minute: u32,
}

/// A window that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    from: u32,
    to: u32,
    days: Vec<Day>,
}

const WEEK: [Day; 7] = [Day::Mon, Day::Tue, Day::Wed, Day::Thu, Day::Fri, Day::Sat, Day::Sun];

impl Window {
    /// From what is written.
    ///
    /// # Errors
    /// An hour that is none, or a window of no length.
    pub fn of(written: &TimeWindow) -> Result<Self, String> {
        let (from, to) = (minutes(&written.from)?, minutes(&written.to)?);
        if from == to {
            return Err(format!("the window from {} to {} has no length", written.from, written.to));
        }
        Ok(Self { from, to, days: written.days.clone() })
    }

    /// Whether a rollout may go forward at a moment. A window over midnight belongs to the day that it begins on.
    pub fn is_open(&self, now: Moment) -> bool {
        let begins = |day: Day| self.days.is_empty() || self.days.contains(&day);
        if self.from < self.to {
            return begins(now.day) && (self.from..self.to).contains(&now.minute);
        }
        (now.minute >= self.from && begins(now.day)) || (now.minute < self.to && begins(before(now.day)))
    }

    /// How many minutes it is open at a time.
    pub const fn minutes(&self) -> u32 {
        if self.from < self.to { self.to - self.from } else { self.to + 24 * 60 - self.from }
    }
}

fn before(day: Day) -> Day {
    let at = WEEK.iter().position(|other| *other == day).unwrap_or(0);
    WEEK[(at + 6) % 7]
}

fn minutes(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no time of day: write it as \"22:00\"");
    let (hour, minute) = text.trim().split_once(':').ok_or_else(wrong)?;
    let (hour, minute): (u32, u32) =
        (hour.parse().map_err(|_| wrong())?, minute.parse().map_err(|_| wrong())?);
    if hour > 24 || minute > 59 || hour * 60 + minute > 24 * 60 {
        return Err(wrong());
    }
    Ok(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: &str, to: &str, days: &[Day]) -> Window {
        Window::of(&TimeWindow { from: from.into(), to: to.into(), days: days.to_vec() }).unwrap()
    }

    fn at(day: Day, hour: u32, minute: u32) -> Moment {
        Moment { day, minute: hour * 60 + minute }
    }

    #[test]
    fn a_night_belongs_to_the_day_it_begins_on() {
        let nights = window("22:00", "05:00", &[Day::Mon, Day::Thu]);
        for (moment, open) in [
            (at(Day::Mon, 22, 0), true),
            (at(Day::Tue, 4, 59), true),
            (at(Day::Tue, 5, 0), false),
            (at(Day::Mon, 3, 0), false),
            (at(Day::Tue, 23, 0), false),
            (at(Day::Fri, 0, 0), true),
            (at(Day::Mon, 21, 59), false),
        ] {
            assert_eq!(nights.is_open(moment), open, "{moment:?}");
        }
        assert_eq!(nights.minutes(), 7 * 60);
        let sunday = window("22:00", "05:00", &[Day::Sun]);
        assert!(sunday.is_open(at(Day::Mon, 1, 0)));
    }

    #[test]
    fn a_day_without_days_is_every_day() {
        let office = window("09:00", "17:30", &[]);
        assert!(office.is_open(at(Day::Sun, 17, 29)) && !office.is_open(at(Day::Sun, 17, 30)));
        assert!(window("00:00", "24:00", &[]).is_open(at(Day::Wed, 23, 59)));
    }

    #[test]
    fn nonsense_is_told() {
        for (from, to) in [("22", "5:00"), ("25:00", "5:00"), ("22:60", "5:00"), ("x:y", "1:00"), ("5:00", "05:00")] {
            assert!(Window::of(&TimeWindow { from: from.into(), to: to.into(), days: Vec::new() }).is_err());
        }
    }
}
