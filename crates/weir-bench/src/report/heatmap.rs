//! Response times over time as a heat map: seconds across, log latency up, share of the second as
//! darkness. Plain SVG, no script.

use crate::record::Slice;
use crate::units::show_time;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 20.0;
/// Rows per factor of ten.
const ROWS_PER_DECADE: f64 = 8.0;
/// The maximum number of columns; longer runs merge several seconds into one.
const COLUMNS_MAX: usize = 240;

fn row(value: u64) -> i64 {
    ((value.max(1) as f64).log10() * ROWS_PER_DECADE).floor() as i64
}

/// The map; a sentence if there is nothing to show.
pub fn render(slices: &[Slice]) -> String {
    let values = || slices.iter().flat_map(|slice| slice.responses.iter());
    let (Some(low), Some(high)) =
        (values().map(|entry| row(entry.0)).min(), values().map(|entry| row(entry.0)).max())
    else {
        return "<p class=soft>No response.</p>".to_owned();
    };
    let last = slices.last().map_or(0, |slice| slice.second) as usize;
    let step = last / COLUMNS_MAX + 1;
    let columns = last / step + 1;
    let rows = (high - low + 1) as usize;
    let mut cells = vec![0u64; columns * rows];
    for slice in slices {
        for (value, count) in &slice.responses {
            let at = slice.second as usize / step * rows + (row(*value) - low) as usize;
            if let Some(cell) = cells.get_mut(at) {
                *cell += count;
            }
        }
    }
    draw(&cells, columns, rows, low, last)
}

fn draw(cells: &[u64], columns: usize, rows: usize, low: i64, last: usize) -> String {
    let (width, height) = ((WIDTH - LEFT) / columns as f64, (HEIGHT - BOTTOM) / rows as f64);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"response times over time\">"
    );
    for (column, cells) in cells.chunks(rows).enumerate() {
        let total: u64 = cells.iter().sum();
        for (row, count) in cells.iter().enumerate().filter(|(_, count)| **count > 0) {
            // The square root keeps rare slow answers visible.
            let share = (*count as f64 / total as f64).sqrt().max(0.08);
            let x = LEFT + column as f64 * width;
            let y = HEIGHT - BOTTOM - (row + 1) as f64 * height;
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"#f76b15\" fill-opacity=\"{share:.2}\"/>",
                width + 0.2,
                height + 0.2
            );
        }
    }
    for row in (0..=rows).step_by(rows.div_ceil(5).max(1)) {
        let value = 10f64.powf((low + row as i64) as f64 / ROWS_PER_DECADE);
        let y = HEIGHT - BOTTOM - row as f64 * height + 4.0;
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=end>{}</text>",
            LEFT - 6.0,
            y.max(10.0),
            show_time(value)
        );
    }
    let foot = HEIGHT - 4.0;
    let _ = write!(
        out,
        "<text x=\"{LEFT}\" y=\"{foot}\">0 s</text>\
         <text x=\"{WIDTH}\" y=\"{foot}\" text-anchor=end>{} s</text></svg>",
        last + 1
    );
    out
}

#[cfg(test)]
mod tests {
    use crate::record::Slice;

    fn check(slices: &[Slice], rects: usize) {
        assert_eq!(super::render(slices).matches("<rect").count(), rects);
    }

    #[test]
    fn a_cell_per_second_and_class() {
        let slice = |second, responses| Slice { second, responses, ..Slice::default() };
        check(&[], 0);
        check(&[slice(0, vec![(1_000, 5), (1_000_000, 1)]), slice(1, vec![(1_000, 5)])], 3);
        // A long run is folded into fewer columns.
        let long: Vec<_> = (0..1000).map(|second| slice(second, vec![(1_000, 1)])).collect();
        check(&long, 200);
    }
}
