//! Cuts a byte stream into lines of bounded length. Pure: bytes in, lines out.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// A line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes, without the line feed.
    Text(Bytes),
    /// It is longer than the limit; its bytes are gone.
    TooLong,
}

/// Cuts frames into lines. Holds at most one frame and the beginning of one line.
#[derive(Debug)]
pub(super) struct LineCutter {
    /// Bytes not cut yet.
    frames: VecDeque<Bytes>,
    /// The beginning of a line that spans frames.
    partial: BytesMut,
    /// The line at hand is too long: drop bytes up to its end.
    skipping: bool,
    max: usize,
    number: u64,
}

impl LineCutter {
    /// For lines of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { frames: VecDeque::new(), partial: BytesMut::new(), skipping: false, max, number: 0 }
    }

    /// Takes in what has arrived. Call when [`LineCutter::next_line`] has nothing more.
    pub(super) fn push(&mut self, frame: Bytes) {
        if !frame.is_empty() {
            self.frames.push_back(frame);
        }
    }

    /// The next whole line and its number, counted from 1. Blank lines are counted and passed over.
    pub(super) fn next_line(&mut self) -> Option<(u64, Line)> {
        while let Some(frame) = self.frames.front_mut() {
            let Some(end) = memchr::memchr(b'\n', frame) else {
                let rest = self.frames.pop_front()?;
                self.keep(&rest);
                continue;
            };
            let piece = frame.split_to(end);
            let _line_feed = frame.split_to(1);
            if frame.is_empty() {
                self.frames.pop_front();
            }
            if let Some(line) = self.complete(piece) {
                return Some((self.number, line));
            }
        }
        None
    }

    /// The last line, if the stream does not end with a line feed. Call once, after the end.
    pub(super) fn finish(&mut self) -> Option<(u64, Line)> {
        if self.partial.is_empty() && !self.skipping {
            return None;
        }
        let line = self.complete(Bytes::new())?;
        Some((self.number, line))
    }

    /// The number of the last line that was begun.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn keep(&mut self, rest: &[u8]) {
        if self.skipping {
            return;
        }
        if self.partial.len() + rest.len() > self.max {
            self.partial = BytesMut::new();
            self.skipping = true;
        } else {
            self.partial.extend_from_slice(rest);
        }
    }

    fn complete(&mut self, piece: Bytes) -> Option<Line> {
        self.number += 1;
        if std::mem::take(&mut self.skipping) {
            return Some(Line::TooLong);
        }
        if self.partial.len() + piece.len() > self.max {
            self.partial = BytesMut::new();
            return Some(Line::TooLong);
        }
        let text = if self.partial.is_empty() {
            piece
        } else {
            self.partial.extend_from_slice(&piece);
            self.partial.split().freeze()
        };
        (!text.trim_ascii().is_empty()).then_some(Line::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(frames: &[&'static str], max: usize) -> Vec<(u64, Option<String>)> {
        let mut cutter = LineCutter::new(max);
        let mut lines = Vec::new();
        let mut add = |(number, line): (u64, Line)| {
            lines.push((
                number,
                match line {
                    Line::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                    Line::TooLong => None,
                },
            ));
        };
        for frame in frames {
            cutter.push(Bytes::from_static(frame.as_bytes()));
            while let Some(line) = cutter.next_line() {
                add(line);
            }
        }
        if let Some(line) = cutter.finish() {
            add(line);
        }
        lines
    }

    #[test]
    fn lines_do_not_depend_on_how_the_stream_is_cut() {
        let text = "ab\n\ncd\r\ntoo long a line\n \nef\ngh";
        let want = vec![
            (1, Some("ab".to_owned())),
            (3, Some("cd\r".to_owned())),
            (4, None),
            (6, Some("ef".to_owned())),
            (7, Some("gh".to_owned())),
        ];
        for size in 1..=text.len() {
            let frames: Vec<&'static str> =
                text.as_bytes().chunks(size).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
            assert_eq!(cut(&frames, 5), want, "frames of {size} bytes");
        }
    }

    #[test]
    fn a_line_without_end_is_dropped_as_it_comes() {
        let mut cutter = LineCutter::new(8);
        for _ in 0..1000 {
            cutter.push(Bytes::from_static(b"aaaaaa"));
            assert_eq!(cutter.next_line(), None);
            assert!(cutter.partial.len() <= 8);
        }
        assert_eq!(cutter.finish(), Some((1, Line::TooLong)));
    }

    #[test]
    fn an_exactly_full_line_fits() {
        assert_eq!(cut(&["12345\n123456\n"], 5), vec![(1, Some("12345".to_owned())), (2, None)]);
    }
}
