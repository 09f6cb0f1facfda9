//! The hikyaku program.
fn main() {}
