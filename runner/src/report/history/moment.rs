//! Points in time as people read them, in UTC, and the time between two of them.
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// A point in time: milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// From RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let since = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok().map(Self)
    }

    /// From seconds since 1970.
    pub const fn of_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Seconds since 1970, with three digits behind the point.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// The time since an earlier moment; none of it where that one is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339.
    pub fn rfc3339(self) -> String {
        humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(self.0)).to_string()
    }

    /// The hour of the day, to the second.
    pub fn hour(self) -> String {
        self.rfc3339().get(11..19).unwrap_or_default().to_owned()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.rfc3339();
        write!(out, "{} {} UTC", text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

/// A time as people say it, from milliseconds to days.
pub fn lasted(time: Duration) -> String {
    match time.as_millis() {
        0..1000 => format!("{} ms", time.as_millis()),
        1000..10_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => crate::report::progress::time(time),
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, lasted};
    use std::time::Duration;

    #[test]
    fn moments_are_told_in_utc() {
        let moment = Moment::parse("2026-12-01T11:47:21.250Z").unwrap();
        assert_eq!(moment.to_string(), "2026-12-01 11:47:21 UTC");
        assert_eq!(moment.hour(), "11:47:21");
        assert_eq!(moment.seconds(), 1_796_125_641.25);
        assert_eq!(Moment::parse("yesterday"), None);
        let later = Moment::parse("2026-12-01T11:47:22.000Z").unwrap();
        assert_eq!(lasted(later.since(moment)), "750 ms");
        assert_eq!(later.since(moment) + moment.since(later), Duration::from_millis(750));
        assert_eq!(lasted(Duration::from_millis(2449)), "2.4 s");
        assert_eq!(lasted(Duration::from_secs(90)), "90 s");
    }
}
