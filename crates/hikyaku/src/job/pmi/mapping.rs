//! Which rank is on which host, as hydra writes it: `(vector,(first,hosts,ranks),...)`.
//!
//! Each block places `ranks` ranks on each of `hosts` hosts beginning with `first`; the blocks repeat until every rank has
//! its place.

/// Whether `size` ranks are on more than one host; `None` if the text says nothing sensible.
pub fn spans_hosts(text: &str, size: usize) -> Option<bool> {
    let blocks = blocks(text)?;
    let first = blocks.first()?.first;
    // Nothing that was told is counted through: the launcher may say any number.
    let mut left = size as u64;
    for block in blocks {
        if left > 0 && block.first != first || left > block.ranks && block.hosts > 1 {
            return Some(true);
        }
        left = left.saturating_sub(block.ranks);
    }
    Some(false)
}

#[derive(Clone, Copy)]
struct Block {
    first: u64,
    hosts: u64,
    ranks: u64,
}

fn blocks(text: &str) -> Option<Vec<Block>> {
    let list = text.strip_prefix("(vector,(")?.strip_suffix("))")?;
    list.split("),(").map(block).collect()
}

fn block(text: &str) -> Option<Block> {
    let mut numbers = text.split(',').map(|number| number.trim().parse::<u64>().ok());
    let block = Block { first: numbers.next()??, hosts: numbers.next()??, ranks: numbers.next()?? };
    block.first.checked_add(block.hosts)?;
    // An empty block would place nobody, for ever.
    (numbers.next().is_none() && block.hosts > 0 && block.ranks > 0).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::spans_hosts;

    #[test]
    fn one_host() {
        assert_eq!(spans_hosts("(vector,(0,1,1))", 4), Some(false));
        assert_eq!(spans_hosts("(vector,(0,1,4))", 4), Some(false));
        assert_eq!(spans_hosts("(vector,(3,1,2),(3,1,9))", 5), Some(false));
        assert_eq!(spans_hosts("(vector,(0,1,1))", usize::MAX), Some(false));
        // The second host has none of them.
        assert_eq!(spans_hosts("(vector,(0,2,4))", 4), Some(false));
    }

    #[test]
    fn several_hosts() {
        assert_eq!(spans_hosts("(vector,(0,2,2))", 4), Some(true));
        assert_eq!(spans_hosts("(vector,(0,1,2),(1,1,2))", 3), Some(true));
        assert_eq!(spans_hosts("(vector,(0,2,1))", 2), Some(true));
        assert_eq!(spans_hosts("(vector,(0,1,1),(0,2,1))", 3), Some(true));
        assert_eq!(spans_hosts("(vector,(0,1,1),(0,2,1))", 2), Some(false));
        assert_eq!(spans_hosts("(vector,(0,1,18446744073709551615),(1,1,1))", usize::MAX), Some(false));
    }

    #[test]
    fn nonsense() {
        for text in
            ["", "(vector)", "(vector,())", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))", "(a,(0,1,1))"]
        {
            assert_eq!(spans_hosts(text, 2), None, "{text}");
        }
        assert_eq!(spans_hosts("(vector,(18446744073709551615,18446744073709551615,1))", 2), None);
    }
}
