//! Dates as people write them.

/// The year, month and day of a date: `1975-12-03`, `19751203`, `3.12.1975`, `12/3/1975`, with or without a time behind it. With `/` the month is first
/// unless it cannot be.
///
/// ```
/// use ordain::data::parse_date;
/// assert_eq!(["1975-12-03T08:00", "19751203", "3.12.1975", "12/3/1975"].map(parse_date), [Some((1975, 12, 3)); 4]);
/// assert_eq!((parse_date("31/12/1999"), parse_date("1999-13-01")), (Some((1999, 12, 31)), None));
/// ```
pub fn parse_date(text: &str) -> Option<(u32, u32, u32)> {
    let day = text.split(['t', 'T', ' ']).next()?;
    let valid = |y: u32, m: u32, d: u32| ((1..=12).contains(&m) && (1..=31).contains(&d)).then_some((y, m, d));
    let number = |text: &str| {
        let digits = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    if day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()) {
        return valid(number(&day[..4])?, number(&day[4..6])?, number(&day[6..])?);
    }
    let sign = ['-', '.', '/'].into_iter().find(|&sign| day.matches(sign).count() == 2)?;
    let parts: Vec<&str> = day.split(sign).collect();
    let [a, b, c] = [number(parts[0])?, number(parts[1])?, number(parts[2])?];
    match sign {
        _ if parts[0].len() == 4 => valid(a, b, c),
        '/' if a <= 12 => valid(c, a, b),
        _ => valid(c, b, a),
    }
}

/// The date of a day, counted from 1970-01-01 on, in the Gregorian calendar: `1975-12-03`.
#[cfg(feature = "parquet")]
pub(in crate::data) fn date_text(days: i64) -> String {
    // years begin in March, so that a leap day is the last of its year
    let shifted = days.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let of_years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_years + of_years / 4 - of_years / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = of_years + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    /// Day after day by hand: the lengths of months, and leap years.
    #[test]
    fn dates_of_days_follow_the_calendar() {
        let (mut y, mut m, mut d) = (1890, 1, 1);
        for days in -29_219..60_000 {
            assert_eq!(date_text(days), format!("{y:04}-{m:02}-{d:02}"));
            let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
            let long = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1];
            (y, m, d) = match (m, d) {
                (12, 31) => (y + 1, 1, 1),
                _ if d == long => (y, m + 1, 1),
                _ => (y, m, d + 1),
            };
        }
    }
}
