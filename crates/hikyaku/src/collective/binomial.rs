//! Binomial trees of any number of places, of which the first is the root; see `tree`.

/// How far above its parent a place of the tree lies.
#[inline(always)]
pub(super) fn lowest(place: usize, size: usize) -> usize {
    if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() }
}

/// How far above a place its children lie, the farthest first: it has the most to pass on.
#[inline(always)]
pub(super) fn steps(place: usize, size: usize) -> impl Iterator<Item = usize> {
    let steps =
        std::iter::successors(Some(lowest(place, size) / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
    steps.filter(move |step| place + step < size)
}
