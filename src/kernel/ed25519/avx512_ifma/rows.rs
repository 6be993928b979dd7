//! Memory for table rows: zeroed, aligned, and in huge pages where a table is large enough to fill some.
//!
//! A lane group reads some 800 rows from places that look random. With pages of 4 KiB most of them miss the buffers for
//! address translation once a table has several MiB; with pages of 2 MiB none does.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::kernel::vector::Row;

/// A huge page of x86-64.
const HUGE_PAGE: usize = 2 << 20;

/// An ordinary page.
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;

/// A cache line.
const LINE: usize = 64;

/// Rows on the heap, as `Box<[Row]>`, which could not have this alignment.
pub(super) struct Rows {
    first: NonNull<Row>,
    count: usize,
}

// SAFETY: the rows belong to this value alone, and a row is plain numbers.
unsafe impl Send for Rows {}
// SAFETY: shared access only reads.
unsafe impl Sync for Rows {}

impl Rows {
    /// `count` rows of zeros, at least one.
    pub(super) fn zeroed(count: usize) -> Self {
        assert!(count > 0);
        let layout = Self::layout(count);
        // SAFETY: the layout has a size above zero, as there is a row.
        let memory = unsafe { alloc(layout) };
        let Some(first) = NonNull::new(memory.cast::<Row>()) else { handle_alloc_error(layout) };
        #[cfg(target_os = "linux")]
        if layout.align() == HUGE_PAGE {
            // Only advice: without huge pages the table is slower, not wrong.
            let whole_pages = layout.size() / PAGE * PAGE;
            // SAFETY: the range is inside this allocation, which starts a page, and the advice changes no byte.
            let _ = unsafe { rustix::mm::madvise(memory.cast(), whole_pages, rustix::mm::Advice::LinuxHugepage) };
        }
        // Only now, as the advice is about pages that have not been touched.
        // SAFETY: the allocation has room for `count` rows.
        unsafe { first.write_bytes(0, count) };
        Self { first, count }
    }

    /// Bytes taken.
    pub(super) fn bytes(count: usize) -> usize {
        Self::layout(count).size()
    }

    fn layout(count: usize) -> Layout {
        let bytes = count * size_of::<Row>();
        let layout = if bytes.next_multiple_of(HUGE_PAGE) - bytes <= HUGE_PAGE / 4 {
            // Whole huge pages, with little of the last one wasted.
            Layout::from_size_align(bytes.next_multiple_of(HUGE_PAGE), HUGE_PAGE)
        } else {
            // Small pages for what is behind the last huge page, or for all.
            let align = if bytes > HUGE_PAGE { HUGE_PAGE } else { LINE };
            Layout::from_size_align(bytes.next_multiple_of(LINE), align)
        };
        layout.expect("a table has at most some MiB, far from the limit of `Layout`")
    }
}

impl Deref for Rows {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        // SAFETY: `zeroed` allocated `count` rows at `first`, and zeros are valid rows.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut [Row] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: `zeroed` allocated at `first` with this layout, and nobody uses it any more.
        unsafe { dealloc(self.first.as_ptr().cast(), Self::layout(self.count)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_zero_aligned_and_writable() {
        for count in [1, 7, 2000, 20_000, 45_000] {
            let mut rows = Rows::zeroed(count);
            assert_eq!(rows.len(), count);
            assert_eq!(rows.as_ptr().addr() % LINE, 0);
            let zero = Row { sides: [[0; 4]; 2], third: [0; 4] };
            assert!(rows.iter().all(|row| *row == zero));
            rows[count - 1].third[3] = 5;
            assert_eq!(rows[count - 1].third[3], 5);
            let wasted = Rows::bytes(count) - count * size_of::<Row>();
            assert!(wasted < LINE || wasted <= HUGE_PAGE / 4, "{count} rows waste {wasted} bytes");
        }
    }
}
