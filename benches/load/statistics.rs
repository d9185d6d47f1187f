//! Percentiles and medians. No averages: a few slow requests or one disturbed run must not move a figure.

/// The smallest value that is not below `per_mille` thousandths of all (nearest rank); 0 without any. Sorts.
pub fn percentile(values: &mut [u32], per_mille: usize) -> u32 {
    values.sort_unstable();
    let rank = (values.len() * per_mille).div_ceil(1000);
    values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// The middle value, or the mean of the two in the middle; `None` without any.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(values[middle - 1], upper)) }
}
