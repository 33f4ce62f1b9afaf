import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { theme } from "../lib/theme.ts";

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Which of the palette's colours. */
  readonly colour: 1 | 2 | 3 | 4;
}

export interface ChartProps {
  readonly label: string;
  readonly x: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly height?: number;
  /** Whether x is epoch seconds. */
  readonly time?: boolean;
  /** Whether it grows while it is shown: then its latest values are its legend. */
  readonly live?: boolean;
  readonly kind?: "line" | "bars";
  /** What stands below the bars, by their place. */
  readonly labels?: readonly string[];
}

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** At least this much time is shown, so that the first points do not jump about. */
const windowS = 120;

/** From the data themselves: for a single point the library would offer a whole day. */
function timeWindow({ data: [x] }: uPlot): [number, number] {
  const end = x.at(-1) ?? Date.now() / 1000;
  return [Math.min(x[0] ?? end, end - windowS), end];
}

function clockTimes(_self: uPlot, splits: number[]): string[] {
  return splits.map((at) => new Date(at * 1000).toTimeString().slice(0, 8));
}

function dayTimes(_self: uPlot, splits: number[]): string[] {
  return splits.map((at) => new Date(at * 1000).toISOString().slice(0, 16).replace("T", " "));
}

/** Before the first value a live chart shows the time that it will fill: without points there would be no axis. */
function dataOf(x: readonly number[], series: readonly Series[], live: boolean): uPlot.AlignedData {
  if (x.length > 0 || !live) return [[...x], ...series.map((each) => [...each.values])] as uPlot.AlignedData;
  const now = Date.now() / 1000;
  return [[now - windowS, now], ...series.map(() => [null, null])] as uPlot.AlignedData;
}

function aroundBars(_self: uPlot, min: number, max: number): [number, number] {
  return [min - 0.7, max + 0.7];
}

const barLabelsMax = 24;

function barLabels(labels: readonly string[]): Pick<uPlot.Axis, "splits" | "values"> {
  const every = Math.ceil(labels.length / barLabelsMax);
  const shown = labels.map((_, i) => i).filter((i) => i % every === 0);
  return { splits: () => shown, values: (_self, splits) => splits.map((i) => labels[i]?.slice(0, 16) ?? "") };
}

function withDefaults({ height = 150, time = true, live = time, kind = "line", ...props }: ChartProps) {
  return { height, time, live, kind, ...props };
}

function plotOptions(
  Plot: typeof uPlot,
  props: ChartProps,
  width: number,
  format: (value: number) => string,
): uPlot.Options {
  const { series, height, time, live, kind, labels } = withDefaults(props);
  const axis: uPlot.Axis = {
    stroke: css("--muted"),
    grid: { stroke: css("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  const below = time ? { values: live ? clockTimes : dayTimes } : {};
  const ofBars = labels === undefined ? {} : barLabels(labels);
  return {
    width,
    height,
    padding: [8, 22, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    scales: {
      x: { time, ...(live ? { range: timeWindow } : {}), ...(kind === "bars" ? { range: aroundBars } : {}) },
      y: { range: (_self, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 26, space: 80, ...below, ...ofBars },
      { ...axis, size: 62, values: (_self, ticks) => ticks.map(format) },
    ],
    series: [{}, ...series.map((each) => plotSeries(Plot, each, kind, series.length === 1))],
  };
}

/** A line that is alone has the area below it filled. */
function plotSeries(
  Plot: typeof uPlot,
  { label, colour }: Series,
  kind: "line" | "bars",
  isAlone: boolean,
): uPlot.Series {
  const stroke = css(`--chart-${colour}`);
  const { bars } = Plot.paths;
  return {
    label,
    stroke,
    width: 1.5,
    ...(kind === "bars" && bars !== undefined ? { paths: bars({ size: [0.7, 60] }), fill: stroke } : {}),
    points: { show: false },
    ...(isAlone && kind === "line" ? { fill: `color-mix(in srgb, ${stroke} 12%, transparent)` } : {}),
  };
}

/** A chart of uPlot, which is fetched with the first one that is shown. */
export function Chart(props: ChartProps) {
  const { label, x, series, format, height, time, live, kind } = withDefaults(props);
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [Plot, setPlot] = useState<typeof uPlot>();
  const latest = useRef(format);
  latest.current = format;
  useEffect(() => {
    void import("uplot").then((module) => setPlot(() => module.default));
  }, []);
  const shape = `${series.map((each) => `${each.label}:${each.colour}`).join()} ${theme.value} ${kind} ${time}`;
  // Depends on this alone: data are put in by the effect below
  useEffect(() => {
    if (Plot === undefined) return;
    const element = frame.current!;
    const options = plotOptions(Plot, props, element.clientWidth || 300, (value) => latest.current(value));
    const chart = new Plot(options, dataOf(x, series, live), element);
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [Plot, shape, height]);
  useEffect(() => {
    plot.current?.setData(dataOf(x, series, live));
  }, [x, series, live]);
  const latestValue = (each: Series) => each.values.findLast((value) => value !== null);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{label}</span>
        {live || series.length > 1 ? (
          <span class="legend">
            {series.map((each) => {
              const value = latestValue(each);
              return (
                <span key={each.label}>
                  <i class={`dot c${each.colour}`} aria-hidden="true" />
                  {each.label} {live ? <b>{value === undefined || value === null ? "–" : format(value)}</b> : null}
                </span>
              );
            })}
          </span>
        ) : null}
      </figcaption>
      <div ref={frame} aria-hidden="true" style={{ minHeight: `${height}px` }} />
    </figure>
  );
}
