//! What the control groups of this process still grant: those of version 2, and the memory controller of version 1.
//!
//! A process that passes the limit of any group above it is killed, or another of that group is. So every group counts, up to
//! the root. What a group uses includes files that the kernel keeps as long as nobody needs the memory: those are no use.

use std::path::{Path, PathBuf};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A limit above this is none.
const NO_LIMIT: u64 = 1 << 60;

/// One group's limit and what is left of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub max: u64,
    pub left: u64,
}

/// How a version names its files.
struct Version {
    folder: &'static str,
    max: &'static str,
    current: &'static str,
    /// Of `memory.stat`: kept files.
    kept: [&'static str; 2],
}

const FIRST: Version = Version {
    folder: "memory",
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    kept: ["total_inactive_file", "total_active_file"],
};

const SECOND: Version =
    Version { folder: "", max: "memory.max", current: "memory.current", kept: ["inactive_file", "active_file"] };

/// The groups of this process that have a limit.
pub fn grants() -> Vec<Grant> {
    grants_of(&|path: &Path| std::fs::read_to_string(path).ok())
}

/// The groups that have a limit, by files as `read` gives them.
fn grants_of(read: &dyn Fn(&Path) -> Option<String>) -> Vec<Grant> {
    let Some(own) = read(Path::new("/proc/self/cgroup")) else { return Vec::new() };
    let mut grants = Vec::new();
    for line in own.lines() {
        // hierarchy:controllers:path
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let version = match controllers {
            "" if number == "0" => SECOND,
            _ if controllers.split(',').any(|controller| controller == "memory") => FIRST,
            _ => continue,
        };
        grants.extend(folders(&version, path).iter().filter_map(|folder| version.grant(folder, read)));
    }
    grants
}

/// A group's folder, and those above it up to the root. Inside a container the path may be one of the host that is not
/// mounted here; then the container's own group is the root.
fn folders(version: &Version, path: &str) -> Vec<PathBuf> {
    let root = Path::new(ROOT).join(version.folder);
    let path = path.trim_start_matches('/');
    let inside = !path.split('/').any(|part| part == "..");
    let own = if inside { root.join(path) } else { root.clone() };
    own.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_path_buf).collect()
}

impl Version {
    fn grant(&self, folder: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<Grant> {
        // "max" is no number, and no limit.
        let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
        let max = number(self.max).filter(|max| *max < NO_LIMIT)?;
        let current = number(self.current)?;
        let statistics = read(&folder.join("memory.stat")).unwrap_or_default();
        let kept = self.kept.iter().filter_map(|name| field(&statistics, name)).sum::<u64>();
        Some(Grant { max, left: max.saturating_sub(current.saturating_sub(kept)) })
    }
}

/// The number on the line that begins with `name`.
fn field(text: &str, name: &str) -> Option<u64> {
    let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn grants_with(files: &[(&str, &str)]) -> Vec<Grant> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        grants_of(&read)
    }

    #[test]
    fn every_group_above_counts_and_kept_files_do_not() {
        let grants = grants_with(&[
            ("/proc/self/cgroup", "0::/user.slice/job.scope\n"),
            ("/sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/job.scope/memory.current", "52428800\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "209715200\n"),
            ("/sys/fs/cgroup/user.slice/memory.current", "157286400\n"),
            (
                "/sys/fs/cgroup/user.slice/memory.stat",
                "anon 31457280\nfile 104857600\ninactive_file 62914560\nactive_file 20971520\nworkingset_refault_file 9\n",
            ),
        ]);
        assert_eq!(grants, [Grant { max: 200 * MB, left: (200 - 150 + 60 + 20) * MB }]);
    }

    #[test]
    fn the_first_version_has_a_folder_of_its_own() {
        let grants = grants_with(&[
            ("/proc/self/cgroup", "9:name=systemd:/\n4:cpuset,memory:/a/b\n1:cpu:/x\n0::/\n"),
            ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "104857600\n"),
            ("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "94371840\n"),
            (
                "/sys/fs/cgroup/memory/a/b/memory.stat",
                "inactive_file 1\nactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 5242880\n",
            ),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n"),
        ]);
        assert_eq!(grants, [Grant { max: 100 * MB, left: (100 - 90 + 15) * MB }]);
    }

    #[test]
    fn a_container_that_sees_a_path_of_its_host_has_the_limit_at_its_root() {
        let root = [("/sys/fs/cgroup/memory.max", "1000"), ("/sys/fs/cgroup/memory.current", "400")];
        for own in ["0::/docker/1234\n", "0::/../../other\n", "0::/\n"] {
            let grants = grants_with(&[root[0], root[1], ("/proc/self/cgroup", own)]);
            assert_eq!(grants, [Grant { max: 1000, left: 600 }], "{own}");
        }
    }

    #[test]
    fn a_group_above_its_limit_has_nothing_left() {
        let grants = grants_with(&[
            ("/proc/self/cgroup", "0::/"),
            ("/sys/fs/cgroup/memory.max", "1000"),
            ("/sys/fs/cgroup/memory.current", "4000"),
            ("/sys/fs/cgroup/memory.stat", "inactive_file 100"),
        ]);
        assert_eq!(grants, [Grant { max: 1000, left: 0 }]);
    }

    #[test]
    fn nonsense_is_no_limit() {
        assert_eq!(grants_with(&[]), []);
        let own = ("/proc/self/cgroup", "::\nnonsense\n0:\n0::/a\n");
        assert_eq!(grants_with(&[own]), []);
        assert_eq!(grants_with(&[own, ("/sys/fs/cgroup/a/memory.max", "-5")]), []);
        assert_eq!(grants_with(&[own, ("/sys/fs/cgroup/a/memory.max", "12")]), []);
    }

    #[test]
    fn the_files_of_this_machine_can_be_read() {
        for grant in grants() {
            assert!(grant.left <= grant.max, "{grant:?}");
        }
    }
}
