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
