//! Which rank is on which host, as hydra writes it: `(vector,(first,hosts,ranks),...)`.
//!
//! Each block places `ranks` ranks on each of `hosts` hosts beginning with `first`; the blocks repeat until every rank has
//! its place.

/// Whether `size` ranks are on more than one host; `None` if the text says nothing sensible.
pub fn spans_hosts(text: &str, size: usize) -> Option<bool> {
    let blocks = blocks(text)?;
    let hosts = blocks.iter().flat_map(|block| {
        (block.first..block.first.saturating_add(block.hosts)).flat_map(|host| (0..block.ranks).map(move |_| host))
    });
    let mut hosts = hosts.cycle().take(size);
    let first = hosts.next()?;
    Some(hosts.any(|host| host != first))
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
        // The second host has none of them.
        assert_eq!(spans_hosts("(vector,(0,2,4))", 4), Some(false));
    }

    #[test]
    fn several_hosts() {
        assert_eq!(spans_hosts("(vector,(0,2,2))", 4), Some(true));
        assert_eq!(spans_hosts("(vector,(0,1,2),(1,1,2))", 3), Some(true));
        assert_eq!(spans_hosts("(vector,(0,2,1))", 2), Some(true));
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
