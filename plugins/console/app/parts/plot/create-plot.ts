import UPlot from 'uplot';

export interface Plot {
  setData(samples: readonly (readonly number[])[]): void;
  destroy(): void;
}

const height = 120;
/** The shortest time that the axis covers, in seconds. */
const shortestSeconds = 60;

const shownTime = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });

/** The range of the time axis. By default, the library would show years around a single value. */
const rangeOf = (first: number, last: number): [number, number] => [Math.min(first, last - shortestSeconds), last];

/** Creates a chart in the current colours of the theme. */
export function createPlot(host: HTMLElement, labels: readonly string[]): Plot {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const colours = ['--accent', '--bad', '--busy', '--focus'].map(colour);
  const axis = { stroke: colour('--text-2'), grid: { stroke: colour('--border'), width: 1 }, ticks: { show: false } };
  const plot = new UPlot(
    {
      width: Math.max(200, host.clientWidth),
      height,
      legend: { show: false },
      cursor: { show: false },
      axes: [
        { ...axis, space: 80, values: (_plot, times) => times.map(shownTime) },
        { ...axis, size: 44 },
      ],
      scales: {
        x: { range: ({ data: [times] }, low, high) => rangeOf(times[0] ?? low, times.at(-1) ?? high) },
        y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] },
      },
      series: [{}, ...labels.map((label, index) => ({ label, stroke: colours[index] ?? '', width: 1.5 }))],
    },
    [[], ...labels.map(() => [])],
    host,
  );
  return {
    setData: ([times = [], ...lines]) => plot.setData([[...times], ...lines.map((line) => [...line])]),
    destroy: () => plot.destroy(),
  };
}
