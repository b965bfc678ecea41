//! Times in UTC as text: the few marks of `strftime` that people use, without reading any clock.

/// Formats seconds since 1970 after `strftime`'s marks.
pub(super) fn format(format: &str, seconds: i64) -> Result<String, String> {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let mut out = String::new();
    let mut marks = format.chars();
    while let Some(c) = marks.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mark = marks.next().ok_or("the format ends with `%`")?;
        match mark {
            'Y' => out.push_str(&format!("{year}")),
            'y' => out.push_str(&format!("{:02}", year % 100)),
            'm' => out.push_str(&format!("{month:02}")),
            'd' => out.push_str(&format!("{day:02}")),
            'H' => out.push_str(&format!("{hour:02}")),
            'M' => out.push_str(&format!("{minute:02}")),
            'S' => out.push_str(&format!("{second:02}")),
            'F' => out.push_str(&format!("{year}-{month:02}-{day:02}")),
            'T' => out.push_str(&format!("{hour:02}:{minute:02}:{second:02}")),
            'j' => out.push_str(&format!("{:03}", day_of_year(year, month, day))),
            's' => out.push_str(&seconds.to_string()),
            'f' => out.push_str("000000"),
            'Z' => out.push_str("UTC"),
            'z' => out.push_str("+0000"),
            '%' => out.push('%'),
            other => return Err(format!("`%{other}` is not offered: use %Y %m %d %H %M %S %F %T %j %s")),
        }
    }
    Ok(out)
}

/// Year, month and day of a count of days since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    // Howard Hinnant, "chrono-compatible low-level date algorithms".
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

fn day_of_year(year: i64, month: i64, day: i64) -> i64 {
    let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let index = usize::try_from(month - 1).unwrap_or(0).min(11);
    before[index] + day + if month > 2 { leap } else { 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_moments() {
        assert_eq!(super::format("%F %T", 0).as_deref(), Ok("1970-01-01 00:00:00"));
        assert_eq!(super::format("%Y%m%dT%H%M%S %j", 1_709_210_096).as_deref(), Ok("20240229T123456 060"));
        assert!(super::format("%A", 0).is_err());
    }
}
