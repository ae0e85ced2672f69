//! The device's threads before ordinary work.
//!
//! A kernel thread has nice 0 beside every busy program of the machine, which takes half of its
//! processor. With SCHED_FIFO of the lowest priority it goes before all of them and after whoever has
//! a higher one; it sleeps when its queue is empty, so others get what it leaves.

use kernel::{read_file, thread};

/// Gives threads a real-time priority; what was achieved, in words.
pub(crate) fn raise(threads: &[(u32, String)], priority: i32) -> String {
    if threads.is_empty() {
        return "the device has no threads of its own".into();
    }
    let failed: Vec<String> = threads
        .iter()
        .filter_map(|(id, name)| {
            Some(format!("{name}: {}", thread::make_real_time(*id, priority).err()?))
        })
        .collect();
    match failed.is_empty() {
        true => format!("{} device threads at SCHED_FIFO {priority}", threads.len()),
        false => format!("device threads as they were ({})", failed.join("; ")),
    }
}

/// Thread ids of a process.
pub(crate) fn threads_of(process: u32) -> Vec<u32> {
    let entries =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Name of a thread, while it runs. (`comm` is cut to 15 characters; `status` has all of a kernel thread's.)
pub(crate) fn name_of(thread: u32) -> Option<String> {
    let status = read_file(format!("/proc/{thread}/status")).ok()?;
    Some(status.lines().next()?.strip_prefix("Name:")?.trim().to_owned())
}

/// Those threads of a process whose names are such ones, with their names.
pub(crate) fn threads_named(process: u32, is_one: impl Fn(&str) -> bool) -> Vec<(u32, String)> {
    let named = |id| Some((id, name_of(id)?));
    let all = threads_of(process).into_iter().filter_map(named);
    all.filter(|(_, name)| is_one(name)).collect()
}
