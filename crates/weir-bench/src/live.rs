//! The display during a run: a screen on a terminal, one line a second elsewhere.

use crate::driver::Watch;
use crate::plan::Plan;
use crate::record::Slice;
use crate::units::{show_count, show_time};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, Paragraph};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The kind of display during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Nothing,
    /// A line a second on standard error.
    Lines,
    /// A full-screen view, if standard error is a terminal; else lines.
    Screen,
}

/// The view of one run, drawn by a thread of its own.
#[derive(Debug)]
pub struct View {
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl View {
    /// Begins to show the run that `watch` belongs to.
    pub fn start(plan: &Plan, target: &str, show: Show, watch: &Arc<Watch>) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let screen = show == Show::Screen && std::io::stderr().is_terminal();
        if show == Show::Nothing {
            return Self { done, thread: None };
        }
        let title = format!("weir bench {target}  ({} connections)", plan.connections);
        let (watch, flag, grace) = (watch.clone(), done.clone(), plan.drain);
        let thread = std::thread::spawn(move || match screen {
            true => draw(&title, &watch, &flag, grace),
            false => print_lines(&watch, &flag, grace),
        });
        Self { done, thread: Some(thread) }
    }

    /// Ends it and leaves the terminal as it was.
    pub fn finish(self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

/// The maximum delay with which a worker publishes the slice of a second.
const PUBLISHED_AFTER: Duration = Duration::from_millis(500);

/// The seconds that are over and that every worker has surely published, also those in which
/// nothing was sent or answered.
fn settled(slices: Vec<Slice>, elapsed: Duration) -> Vec<Slice> {
    let seconds = elapsed.saturating_sub(PUBLISHED_AFTER).as_secs();
    let mut slices = slices.into_iter().peekable();
    let of = |second| {
        let known = slices.next_if(|slice| slice.second == second);
        known.unwrap_or(Slice { second, ..Slice::default() })
    };
    (0..seconds).map(of).collect()
}

/// The message while the run waits for its last answers; `None` while it still sends.
fn waiting(awaited: usize, grace: Duration) -> Option<String> {
    let answers = if awaited == 1 { "answer" } else { "answers" };
    (awaited > 0).then(|| {
        format!(
            "the last request is sent; waiting up to {} (--grace) for {awaited} {answers}; Ctrl-C \
             shows the report now",
            show_time(grace.as_nanos() as f64)
        )
    })
}

/// One second in one line.
fn line(slice: &Slice) -> String {
    let time = |quantile| slice.quantile(quantile).map_or("-".to_owned(), |n| show_time(n as f64));
    format!(
        "{:>5}s  {:>9}/s  p50 {:>8}  p99 {:>8}  failed {}",
        slice.second,
        show_count(slice.ok as f64),
        time(0.5),
        time(0.99),
        slice.failed
    )
}

fn print_lines(watch: &Watch, done: &AtomicBool, grace: Duration) {
    let started = Instant::now();
    let (mut next, mut told) = (0, false);
    let mut print = |slices: Vec<Slice>| {
        for slice in slices.iter().filter(|slice| slice.second >= next) {
            eprintln!("{}", line(slice));
        }
        next = slices.last().map_or(next, |last| next.max(last.second + 1));
    };
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(500));
        if done.load(Ordering::Relaxed) {
            break;
        }
        print(settled(watch.slices(), started.elapsed()));
        if let Some(what) = waiting(watch.awaited(), grace).filter(|_| !told) {
            eprintln!("{what}");
            told = true;
        }
    }
    print(whole(watch.slices(), started.elapsed()));
}

/// The slices that are whole seconds, for a run that ended after `elapsed`.
fn whole(mut slices: Vec<Slice>, elapsed: Duration) -> Vec<Slice> {
    slices.retain(|slice| slice.second < elapsed.as_secs());
    slices
}

fn draw(title: &str, watch: &Watch, done: &AtomicBool, grace: Duration) {
    let backend = ratatui::backend::CrosstermBackend::new(std::io::stderr());
    let Ok(mut terminal) = ratatui::Terminal::new(backend) else {
        return print_lines(watch, done, grace);
    };
    let started = Instant::now();
    crossterm::execute!(std::io::stderr(), crossterm::terminal::EnterAlternateScreen).ok();
    while !done.load(Ordering::Relaxed) {
        let slices = settled(watch.slices(), started.elapsed());
        let hint = waiting(watch.awaited(), grace).unwrap_or_else(|| "Ctrl-C ends".to_owned());
        terminal.draw(|frame| render(frame, title, &slices, &hint)).ok();
        std::thread::park_timeout(Duration::from_millis(250));
    }
    crossterm::execute!(
        std::io::stderr(),
        crossterm::terminal::LeaveAlternateScreen,
        crossterm::cursor::Show
    )
    .ok();
}

fn render(frame: &mut ratatui::Frame<'_>, title: &str, slices: &[Slice], hint: &str) {
    let rows = [Constraint::Length(3), Constraint::Fill(1), Constraint::Fill(1)];
    let [top, rates, times] = Layout::vertical(rows).areas(frame.area());
    let summary = slices.last().map(line).unwrap_or_else(|| "the first second…".to_owned());
    let text = vec![Line::from(title.to_owned()), Line::from(summary), Line::from(hint)];
    frame.render_widget(Paragraph::new(text), top);
    let points = |value: &dyn Fn(&Slice) -> f64| -> Vec<(f64, f64)> {
        slices.iter().map(|slice| (slice.second as f64, value(slice))).collect()
    };
    let (ok, failed) = (points(&|s| s.ok as f64), points(&|s| s.failed as f64));
    let lines = [("requests/s", &ok, Color::Cyan), ("failed/s", &failed, Color::Red)];
    frame.render_widget(chart("rate", &lines, &|v| show_count(v)), rates);
    let quantile = |q| points(&move |s: &Slice| s.quantile(q).unwrap_or(0) as f64);
    let (p50, p99) = (quantile(0.5), quantile(0.99));
    let lines = [("p50", &p50, Color::Green), ("p99", &p99, Color::Yellow)];
    frame.render_widget(chart("response time", &lines, &|v| show_time(v)), times);
}

/// Name, points and colour of a line.
type Curve<'a> = (&'a str, &'a Vec<(f64, f64)>, Color);

fn chart<'a>(title: &'a str, lines: &[Curve<'a>], label: &dyn Fn(f64) -> String) -> Chart<'a> {
    let all = || lines.iter().flat_map(|(_, points, _)| points.iter());
    let top = all().map(|point| point.1).fold(1.0, f64::max) * 1.1;
    let end = all().map(|point| point.0).fold(1.0, f64::max);
    let sets = lines.iter().map(|(name, points, color)| {
        Dataset::default()
            .name(*name)
            .marker(Marker::Braille)
            .graph_type(ratatui::widgets::GraphType::Line)
            .style(Style::default().fg(*color))
            .data(points)
    });
    Chart::new(sets.collect())
        .block(Block::bordered().title(title))
        .x_axis(Axis::default().bounds([0.0, end]).labels(["0s".to_owned(), format!("{end}s")]))
        .y_axis(Axis::default().bounds([0.0, top]).labels(["0".to_owned(), label(top)]))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{line, render, settled, waiting, whole};
    use crate::record::Slice;

    fn slice(second: u64) -> Slice {
        let responses = vec![(1_000_000, 98), (9_000_000, 2)];
        Slice { second, ok: 1234, failed: 2, responses, ..Slice::default() }
    }

    #[test]
    fn a_second_is_one_line() {
        let want = "    3s      1,234/s  p50   1.00ms  p99   9.00ms  failed 2";
        assert_eq!(line(&slice(3)), want);
    }

    #[test]
    fn what_is_left_of_a_second_at_the_end_is_no_rate() {
        let shown = whole((0..3).map(slice).collect(), Duration::from_millis(2_040));
        assert_eq!(shown, [slice(0), slice(1)]);
    }

    #[test]
    fn a_second_in_which_nothing_happened_is_shown_too() {
        let shown = settled(vec![slice(0), slice(2), slice(3)], Duration::from_millis(3_600));
        let expected = [slice(0), Slice { second: 1, ..Slice::default() }, slice(2)];
        assert_eq!(shown, expected);
        assert_eq!(settled(vec![slice(0)], Duration::from_millis(1_400)), [], "not published yet");
    }

    #[test]
    fn what_is_waited_for_is_told() {
        assert_eq!(waiting(0, Duration::from_secs(10)), None);
        let told = waiting(1, Duration::from_secs(10)).unwrap();
        assert!(told.contains("up to 10.0s (--grace) for 1 answer;"), "{told}");
    }

    #[test]
    fn the_screen_shows_the_newest_second_and_both_charts() {
        let backend = ratatui::backend::TestBackend::new(80, 24);
        let mut terminal = ratatui::Terminal::new(backend).unwrap();
        let slices: Vec<_> = (0..5).map(slice).collect();
        terminal.draw(|frame| render(frame, "weir bench x", &slices, "")).unwrap();
        let screen = terminal.backend().to_string();
        for want in ["weir bench x", "1,234/s", "rate", "response time", "p99", "1,357"] {
            assert!(screen.contains(want), "{want} is not in\n{screen}");
        }
    }
}
