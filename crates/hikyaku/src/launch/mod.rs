//! Starting jobs of processes.
