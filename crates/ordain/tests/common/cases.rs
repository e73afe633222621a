//! How many random cases the tests run, in one place.

/// `usual` cases, times `ORDAIN_CASES` per cent: 100 if it is not set, 1000 for a long night, 1 for a first look.
/// There is always at least one.
pub(crate) fn cases(usual: u32) -> u32 {
    let share: u64 = std::env::var("ORDAIN_CASES").map_or(100, |text| match text.parse() {
        Ok(share) => share,
        Err(_) => panic!("ORDAIN_CASES: expected per cent of the usual number of cases (100), found {text:?}"),
    });
    u32::try_from((u64::from(usual) * share).div_ceil(100)).unwrap_or(u32::MAX).max(1)
}
