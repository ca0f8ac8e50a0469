//! Line charts over a logarithmic axis, as SVG that reads in the light and in the dark.

use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 170.0;
/// The number of lines distinguished by colour.
const COLOURS: usize = 7;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 58.0;
/// Least distance between two labels at the lines' ends.
const LABEL_HEIGHT: f64 = 16.0;

/// One line: its name, and (x, y) with both above 0.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name at its right end.
    pub name: String,
    /// Points by rising x.
    pub points: Vec<(f64, f64)>,
    /// Drawn with dashes.
    pub dashed: bool,
}

/// A chart with logarithmic axes: decades have equal lengths, so parallel lines grow by the same
/// factor, and a flat one does not grow.
#[derive(Clone, Debug)]
pub struct Axes<'a> {
    /// Title.
    pub title: &'a str,
    /// The quantity on the x axis.
    pub x: &'a str,
    /// The quantity on the y axis, with its unit.
    pub y: &'a str,
}

/// The range of an axis, in decades.
#[derive(Clone, Copy)]
struct Scale {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let low = (low + 1e-9).floor() as i32;
        let high = ((high - 1e-9).ceil() as i32).max(low + 1);
        Self { low, high, from, to }
    }

    fn at(self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    fn decades(self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10f64.powi(power))
    }
}

/// Draws it.
pub fn draw(axes: &Axes<'_>, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let x = Scale::of(points().map(|(x, _)| x), LEFT, WIDTH - RIGHT);
    let y = Scale::of(points().map(|(_, y)| y), HEIGHT - BOTTOM, TOP);
    let mut out = head(axes.title);
    for value in x.decades() {
        let at = x.at(value);
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            short(value)
        );
    }
    for value in y.decades() {
        let at = y.at(value);
        let (left, right) = (LEFT, WIDTH - RIGHT);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            at + 4.0,
            short(value)
        );
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
         <text class=\"axis\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>",
        HEIGHT - 14.0,
        escaped(axes.x),
        TOP - 12.0,
        escaped(axes.y)
    );
    let labels = label_heights(lines, y);
    for (number, (line, label)) in lines.iter().zip(labels).enumerate() {
        curve(&mut out, line, number, (x, y), label);
    }
    out + "</svg>\n"
}

fn head(title: &str) -> String {
    let title = escaped(title);
    // Colours that differ for colour-blind eyes, too (Okabe and Ito), lighter ones in the dark.
    let light = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#555555", "#7a1f5c"];
    let dark = ["#56b4e9", "#ff8c42", "#2fd6a3", "#e8a3cc", "#f0e442", "#bbbbbb", "#ff6b6b"];
    debug_assert!(light.len() == COLOURS && dark.len() == COLOURS);
    let colours = |colours: &[&str]| {
        let rule = |(n, c): (usize, &&str)| format!(".c{n}{{color:{c}}}");
        colours.iter().enumerate().map(rule).collect::<String>()
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>text{{font:13px system-ui,sans-serif;fill:#222}}\
         .title{{font-size:16px;font-weight:600}}.tick{{font-size:12px;fill:#555}}\
         .grid{{stroke:#ddd}}.back{{fill:#fff}}.line{{fill:none;stroke:currentColor;stroke-width:2.2}}\
         .dot,.name{{fill:currentColor}}.name{{font-weight:600}}{}\
         @media (prefers-color-scheme:dark){{text{{fill:#eee}}.tick{{fill:#aaa}}.grid{{stroke:#333}}\
         .back{{fill:#0d1117}}.dot,.name{{fill:currentColor}}{}}}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"24\">{title}</text>\n",
        colours(&light),
        colours(&dark)
    )
}

fn curve(out: &mut String, line: &Line, number: usize, (x, y): (Scale, Scale), label: f64) {
    let Some(&(last_x, _)) = line.points.last() else { return };
    let class = format!("c{}", number % COLOURS);
    let points: Vec<String> =
        line.points.iter().map(|&(px, py)| format!("{:.1},{:.1}", x.at(px), y.at(py))).collect();
    let dashes = if line.dashed { " stroke-dasharray=\"6 5\"" } else { "" };
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><polyline class=\"line\" points=\"{}\"{dashes}/>",
        points.join(" ")
    );
    for &(px, py) in &line.points {
        let (cx, cy) = (x.at(px), y.at(py));
        let _ = write!(
            out,
            "<circle class=\"dot\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.4\"><title>{}, {}: {}</title>\
             </circle>",
            escaped(&line.name),
            short(px),
            super::stats::grouped(py, if py < 10.0 { 2 } else { 0 })
        );
    }
    let _ = writeln!(
        out,
        "\n<text class=\"name\" x=\"{:.1}\" y=\"{label:.1}\">{}</text></g>",
        x.at(last_x) + 9.0,
        escaped(&line.name)
    );
}

/// Heights of the names, moved apart where their lines end close to each other.
fn label_heights(lines: &[Line], y: Scale) -> Vec<f64> {
    let end = |line: &Line| line.points.last().map_or(0.0, |&(_, value)| y.at(value) + 4.0);
    let mut order: Vec<(usize, f64)> = lines.iter().map(end).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut heights = vec![0.0; lines.len()];
    let mut lowest = f64::NEG_INFINITY;
    for (at, wanted) in order {
        lowest = wanted.max(lowest + LABEL_HEIGHT);
        heights[at] = lowest;
    }
    heights
}

/// `1,000` as `1k`, `1,000,000` as `1M`.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6)),
        v if v >= 1e3 => format!("{}k", trimmed(v / 1e3)),
        v => trimmed(v),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Axes, LABEL_HEIGHT, Line, draw, short};

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line { name: name.to_owned(), points: points.to_vec(), dashed: false }
    }

    /// Checks that the XML is well-formed: every element and every quote is closed.
    fn check_nesting(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, text) = tag.split_once('>').expect("a tag ends");
            assert!(!text.contains('>'), "{text}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{tag}");
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }

    #[test]
    fn charts_are_well_formed() {
        let axes = Axes { title: "a < b & \"c\"", x: "routes", y: "µs" };
        let lines = [
            line("weir & co", &[(1.0, 8.0), (1e6, 8.4)]),
            Line { dashed: true, ..line("nginx", &[(1.0, 9.0), (1e5, 12.0)]) },
            line("nothing", &[]),
        ];
        let svg = draw(&axes, &lines);
        check_nesting(&svg);
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;") && !svg.contains("NaN"), "{svg}");
        assert!(svg.contains(">1M</text>") && svg.contains(">100k</text>"));
        check_nesting(&draw(&axes, &[]));
    }

    #[test]
    fn higher_values_are_drawn_higher() {
        let axes = Axes { title: "t", x: "x", y: "y" };
        let svg = draw(&axes, &[line("a", &[(1.0, 1.0), (10.0, 100.0)])]);
        let heights: Vec<f64> = svg
            .split("cy=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(heights[0] > heights[1], "{heights:?}");
    }

    #[test]
    fn names_do_not_overlap() {
        let axes = Axes { title: "t", x: "x", y: "y" };
        let lines: Vec<Line> = (0..5).map(|_| line("same", &[(1.0, 5.0), (10.0, 5.0)])).collect();
        let svg = draw(&axes, &lines);
        let mut heights: Vec<f64> = svg
            .split("class=\"name\" x=\"")
            .skip(1)
            .map(|rest| rest.split("y=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|height| height.parse().unwrap())
            .collect();
        heights.sort_by(f64::total_cmp);
        assert_eq!(heights.len(), 5);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_HEIGHT - 0.1));
    }

    #[test]
    fn decades_are_short() {
        for (value, expected) in [(0.01, "0.01"), (1.0, "1"), (1e3, "1k"), (5e3, "5k"), (1e6, "1M")]
        {
            assert_eq!(short(value), expected);
        }
    }
}
