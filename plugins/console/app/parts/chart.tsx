import { useEffect, useRef, useState } from 'preact/hooks';
import type { Plot } from './plot/create-plot.ts';

/** The first row has times, in seconds since 1970. Each further row has the values of one line of the chart. */
export type Samples = readonly (readonly number[])[];

/** The maximum number of samples that a chart keeps. */
const keptSamples = 300;

/** Adds a sample of the values whenever `stamp`, the time of the sample, changes. */
export function useSamples(stamp: string, values: readonly number[]): Samples {
  const [samples, setSamples] = useState<Samples>([[], ...values.map(() => [])]);
  useEffect(() => {
    const time = Date.parse(stamp) / 1000;
    if (Number.isNaN(time)) return;
    setSamples((old) => [time, ...values].map((value, index) => [...(old[index] ?? []), value].slice(-keptSamples)));
  }, [stamp]);
  return samples;
}

/**
 * Shows lines over time, and the last value of each line as text. The code of the chart is loaded when the first one is
 * shown.
 */
export function Chart({ samples, labels }: { readonly samples: Samples; readonly labels: readonly string[] }) {
  const host = useRef<HTMLDivElement>(null);
  const [plot, setPlot] = useState<Plot>();
  useEffect(() => {
    let made: Plot | undefined;
    let isClosed = false;
    const load = async (): Promise<void> => {
      const { createPlot } = await import('./plot/create-plot.ts');
      if (isClosed || host.current === null) return;
      made = createPlot(host.current, labels);
      setPlot(made);
    };
    void load();
    return () => {
      isClosed = true;
      made?.destroy();
    };
  }, []);
  useEffect(() => plot?.setData(samples), [plot, samples]);
  return (
    <figure class="chart">
      <figcaption>
        {labels.map((label, index) => (
          <span key={label} class={`chart-label chart-label-${index}`}>
            {label} {(samples[index + 1]?.at(-1) ?? 0).toFixed(1)}
          </span>
        ))}
      </figcaption>
      <div ref={host} aria-hidden="true" />
    </figure>
  );
}
