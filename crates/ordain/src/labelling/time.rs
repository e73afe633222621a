//! Moments as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment in UTC to the millisecond, as RFC 3339 writes it: `2026-11-16T12:00:00.123Z`. Moments before 1970 count as its beginning.
///
/// Days become dates as in Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that
/// the leap day is the last.
pub(super) fn utc(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, ms) = (since.as_secs(), since.subsec_millis());
    let days = (seconds / 86_400) as i64 + 719_468; // from the first of March of the year 0
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Day after day, by a calendar that counts.
    #[test]
    fn days_follow_each_other_as_in_a_calendar() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000u64 {
            let text = utc(UNIX_EPOCH + Duration::from_millis(days * 86_400_000 + 45_296_789));
            assert_eq!(text, format!("{year:04}-{month:02}-{day:02}T12:34:56.789Z"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
            (day, month) = if day < last { (day + 1, month) } else { (1, month + 1) };
            (month, year) = if month > 12 { (1, year + 1) } else { (month, year) };
        }
        assert!(year > 2500);
    }
}
