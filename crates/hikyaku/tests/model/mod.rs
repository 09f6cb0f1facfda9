//! What the models share.

/// Memory without any protection of its own: loom reports two accesses that nothing orders.
pub use hikyaku::sync::plain::Plain as Memory;

/// Explores with at most `preemptions` forced switches: nearly all bugs show with two or three.
pub fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}
