//! Work that has nothing to do with each other, shared out to the processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the work on each item, as many at a time as there are processors. What comes of it is in the
/// order of the items, so that it is the same however many processors there are, where the work is.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    map_on(threads, items, work)
}

/// The same with so many threads.
pub fn map_on<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let share = || {
        while let (index, Some(item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            (index, items.get(index))
        } {
            let result = work(item);
            done.lock().unwrap_or_else(|broken| broken.into_inner()).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(share);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|broken| broken.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_are_in_the_order_of_items_however_many_threads() {
        let items: Vec<u64> = (0..100).collect();
        // The first ones take longest, so that the last ones are done before them.
        let work = |item: &u64| (0..(100 - item) * 1_000).fold(*item, |sum, n| sum ^ (n * n));
        let alone: Vec<u64> = items.iter().map(work).collect();
        for threads in [0, 1, 2, 7, 200] {
            assert_eq!(map_on(threads, &items, work), alone, "{threads} threads");
        }
        assert_eq!(map_on(3, &[], |item: &u64| *item), Vec::<u64>::new());
    }

    /// Would never end if one waited for the other.
    #[test]
    fn items_are_worked_on_at_the_same_time() {
        let both = Barrier::new(2);
        let _ = map_on(2, &[0, 1], |_| both.wait().is_leader());
    }
}
