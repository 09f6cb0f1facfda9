//! The figures of the papers, as they stand there.

use serde::Deserialize;

/// One of them; `figures.toml` says what the fields mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub id: String,
    pub paper: String,
    pub place: String,
    pub what: String,
    pub machine: String,
    #[serde(default)]
    pub ranks: usize,
    #[serde(default)]
    pub bytes: usize,
    #[serde(default)]
    pub buffer: usize,
    pub value: Option<f64>,
    pub unit: String,
    pub status: Status,
    pub quote: String,
    #[serde(default)]
    pub note: String,
}

/// What the figure is to a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Predicted,
    Depends,
    Input,
    Underivable,
    Shape,
    Peer,
}

impl Status {
    /// What the page says of it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Predicted => "predicted",
            Status::Depends => "depends on what is not said",
            Status::Input => "input",
            Status::Underivable => "cannot be derived",
            Status::Shape => "no number is given",
            Status::Peer => "another library",
        }
    }
}

/// All of them.
pub fn all() -> Vec<Figure> {
    #[derive(Deserialize)]
    struct File {
        figure: Vec<Figure>,
    }
    toml::from_str::<File>(include_str!("figures.toml")).expect("a test reads it").figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_be_read_and_are_told_apart() {
        let figures = all();
        assert!(figures.len() > 40, "{}", figures.len());
        for (index, figure) in figures.iter().enumerate() {
            assert!(figures[..index].iter().all(|other| other.id != figure.id), "{} is there twice", figure.id);
            assert!(hikyaku::sim::Machine::named(&figure.machine).is_ok(), "{}", figure.id);
            assert!(figure.value.is_some() || figure.status != Status::Predicted, "{}", figure.id);
        }
    }
}
