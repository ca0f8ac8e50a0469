// Draws the charts of a report from the result embedded in the page. No network, no dependencies but
// uPlot. Marks the page with the number of charts that show something, for the test.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("result").textContent);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--soft").trim(), grid = style.getPropertyValue("--line").trim();
  const time = (ns) => ns == null ? "" : ns >= 1e9 ? (ns / 1e9).toPrecision(3) + " s"
    : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + " ms" : (ns / 1e3).toPrecision(3) + " µs";
  const axis = (extra) => ({ stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, ...extra });
  const charts = [];
  const draw = (id, options, columns) => {
    const place = document.getElementById(id);
    if (!place || columns[0].length < 2) return;
    const width = place.clientWidth || 1000;
    charts.push(new uPlot({ width, height: 240, ...options }, columns, place));
  };
  const quantile = (slice, share) => {
    const total = slice.responses.reduce((sum, entry) => sum + entry[1], 0);
    let seen = 0;
    for (const [value, count] of slice.responses) {
      seen += count;
      if (seen >= share * total && total) return value;
    }
    return null;
  };
  const outcome = data.outcome;
  if (outcome) {
    const slices = outcome.slices.slice(0, data.whole_seconds), seconds = slices.map((s) => s.second);
    draw("over-time", {
      scales: { x: { time: false }, ms: { distr: 3 } },
      axes: [axis({ label: "seconds" }), axis({ label: "per second", size: 70 }),
        axis({ scale: "ms", side: 1, size: 80, grid: { show: false }, values: (_, v) => v.map(time) })],
      series: [{ label: "second" }, { label: "succeeded/s", stroke: "#0090ff", width: 2 },
        { label: "failed/s", stroke: "#e5484d", width: 2 },
        { label: "p50", scale: "ms", stroke: "#30a46c", width: 1.5, value: (_, v) => time(v) },
        { label: "p99", scale: "ms", stroke: "#f76b15", width: 1.5, value: (_, v) => time(v) }],
    }, [seconds, slices.map((s) => s.ok), slices.map((s) => s.failed),
      slices.map((s) => quantile(s, 0.5)), slices.map((s) => quantile(s, 0.99))]);
    const spectrum = (dist) => {
      const points = new Map();
      let seen = 0;
      for (const [value, count] of dist.buckets) {
        seen += count;
        const share = seen / dist.count;
        points.set(share < 1 ? 1 / (1 - share) : 2 * dist.count, value);
      }
      return points;
    };
    const one = spectrum(outcome.response), two = spectrum(outcome.service);
    const xs = [...new Set([...one.keys(), ...two.keys()])].sort((a, b) => a - b);
    draw("spectrum", {
      padding: [null, 40, null, null], // the last label stands on the edge
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
      axes: [axis({ label: "percentile", values: (_, v) => v.map((x) =>
        Number.isInteger(Math.log10(x)) ? "p" + +(100 * (1 - 1 / x)).toPrecision(6) : "") }),
        axis({ size: 80, values: (_, v) => v.map(time) })],
      series: [{ label: "1/(1-p)" },
        { label: "response", stroke: "#f76b15", width: 2, spanGaps: true, value: (_, v) => time(v) },
        { label: "service", stroke: "#0090ff", width: 2, spanGaps: true, value: (_, v) => time(v) }],
    }, [xs, xs.map((x) => one.get(x) ?? null), xs.map((x) => two.get(x) ?? null)]);
    const samples = outcome.server ? outcome.server.samples : [];
    const cores = samples.map((s, i) => i ? (s.cpu_s - samples[i - 1].cpu_s) / (s.at_s - samples[i - 1].at_s) : null);
    draw("server", {
      scales: { x: { time: false } },
      axes: [axis({ label: "seconds" }), axis({ label: "cores" }),
        axis({ scale: "mb", side: 1, label: "MB RSS", size: 70, grid: { show: false } })],
      series: [{ label: "second" }, { label: "cores", stroke: "#8e4ec6", width: 2 },
        { label: "RSS", scale: "mb", stroke: "#30a46c", width: 2 }],
    }, [samples.map((s) => s.at_s), cores, samples.map((s) => s.rss_bytes / 1e6)]);
  }
  const points = data.points;
  draw("against-rate", {
    scales: { x: { time: false }, y: { distr: 3 } },
    axes: [axis({ label: "achieved per second" }), axis({ size: 80, values: (_, v) => v.map(time) })],
    series: [{ label: "rate" },
      { label: "p50", stroke: "#30a46c", width: 2, points: { show: true }, value: (_, v) => time(v) },
      { label: "p99", stroke: "#f76b15", width: 2, points: { show: true }, value: (_, v) => time(v) }],
  }, [points.map((p) => p[0]), points.map((p) => p[1]), points.map((p) => p[2])]);
  requestAnimationFrame(() => {
    const painted = charts.filter((chart) => {
      const canvas = chart.ctx.canvas;
      const pixels = chart.ctx.getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Set();
      for (let at = 0; at < pixels.length; at += 4) {
        if (pixels[at + 3] > 200) colours.add((pixels[at] >> 4) * 256 + (pixels[at + 1] >> 4) * 16 + (pixels[at + 2] >> 4));
      }
      return colours.size > 4;
    });
    document.documentElement.dataset.charts = String(painted.length);
  });
})();
