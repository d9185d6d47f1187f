//! CPU time and memory of other processes, read from `/proc`. `None` where there is none.

use std::fs;
use std::time::Duration;

use crate::work::Memory;

/// One tick of the times in `/proc`: Linux shows them to programs in hundredths of a second on every architecture.
const TICK_MILLIS: u64 = 10;
const TICK: Duration = Duration::from_millis(TICK_MILLIS);

/// How often a sum is begun again when processes end meanwhile.
const TRIES: usize = 20;

/// The part of `/proc/PID/stat` that matters here.
struct Stat {
    parent: u32,
    /// Ticks of the process.
    own: u32,
    /// Ticks of its children that ended and were waited for.
    waited: u32,
}

/// A process and all that it and its children have started.
pub fn tree(pid: u32) -> Vec<u32> {
    let running = fs::read_dir("/proc").into_iter().flatten().flatten();
    let running = running.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<_> = running.filter_map(|pid| Some((pid, stat(pid)?.parent))).collect();
    let mut tree = vec![pid];
    let mut looked_at = 0;
    while let Some(&parent) = tree.get(looked_at) {
        tree.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid));
        looked_at += 1;
    }
    tree
}

/// CPU time that processes have used so far.
pub fn cpu(pids: &[u32]) -> Option<Duration> {
    pids.iter().map(|&pid| Some(TICK * stat(pid)?.own)).sum()
}

/// CPU time that processes, and those of their children that have ended, have used so far. A process that ends meanwhile
/// is its parent's by then.
pub fn cpu_with_ended(pids: &[u32]) -> Duration {
    pids.iter().filter_map(|&pid| stat(pid)).map(|stat| TICK * (stat.own + stat.waited)).sum()
}

/// CPU time that a process and all its children have used so far, those that have ended included.
pub fn cpu_with_children(pid: u32) -> Option<Duration> {
    let mut parent = stat(pid)?;
    for _ in 0..TRIES {
        let children = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
            let child = stat(entry.file_name().to_str()?.parse().ok()?)?;
            (child.parent == pid).then_some(child.own + child.waited)
        });
        let children: u32 = children.sum();
        let after = stat(pid)?;
        // A child that ended meanwhile may be missing among both.
        if after.waited == parent.waited {
            return Some(TICK * (parent.own + parent.waited + children));
        }
        parent = after;
    }
    None
}

/// CPU time that all programs have used so far, and what the hypervisor has withheld. What the kernel does in interrupts
/// is left out, since it does most of it for the loopback connections of the bench.
pub fn cpu_of_all() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_ascii_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let [user, nice, system, _, _, _, _, steal, ..] = ticks[..] else { return None };
    Some(Duration::from_millis(TICK_MILLIS * (user + nice + system + steal)))
}

/// Resident memory of processes now, and their peaks; pages that they share count for each.
pub fn memory(pids: &[u32]) -> Option<Memory> {
    let all: Vec<_> = pids.iter().map(|&pid| memory_of(pid)).collect::<Option<_>>()?;
    let sum = |figure: fn(&Memory) -> f64| all.iter().map(figure).sum();
    Some(Memory { resident: sum(|memory| memory.resident), peak: sum(|memory| memory.peak) })
}

fn memory_of(pid: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mebibytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_ascii_whitespace().nth(1)?.parse::<f64>().ok().map(|kibibytes| kibibytes / 1024.0)
    };
    let resident = mebibytes("VmRSS:")?;
    // The kernel counts the two at different moments.
    Some(Memory { resident, peak: mebibytes("VmHWM:")?.max(resident) })
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name comes first, in parentheses, and may hold spaces. The state after it is field 3.
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u32>().ok();
    Some(Stat { parent: number(4)?, own: number(14)? + number(15)?, waited: number(16)? + number(17)? })
}
