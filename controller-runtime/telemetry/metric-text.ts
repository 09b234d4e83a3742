import { Histogram, type Counter, type Gauge } from './instruments.ts';

/** The Content-Type of Prometheus' text format. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Checks the name of a metric and those of its labels. Throws RangeError for a name that Prometheus does not allow. */
export function checkMetricNames(name: string, labels: readonly string[]): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new RangeError(`"${name}" cannot be the name of a metric`);
  for (const label of labels) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) || label === 'le') {
      throw new RangeError(`"${label}" cannot be the name of a label of ${name}`);
    }
  }
}

/** Returns the labels as text, such as `a="1",b="2"`; the empty text when there are no labels. */
export function formatLabels(names: readonly string[], values: readonly string[]): string {
  return names.map((name, position) => `${name}="${escapeValue(values[position] ?? '')}"`).join(',');
}

export function formatHeader(name: string, { help, type }: { readonly help: string; readonly type: string }): string {
  const line = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${line}\n# TYPE ${name} ${type}\n`;
}

export function formatSample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${formatNumber(value)}\n`;
}

/** Returns the lines of one series. */
export function formatSeries(name: string, labels: string, series: Counter | Gauge | Histogram): string {
  if (!(series instanceof Histogram)) return formatSample(name, labels, series.value);
  const { buckets, counts, sum } = series;
  let total = 0;
  let text = '';
  for (const [position, count] of counts.entries()) {
    total += count;
    const bound = formatNumber(buckets[position] ?? Number.POSITIVE_INFINITY);
    text += formatSample(`${name}_bucket`, `${labels === '' ? '' : `${labels},`}le="${bound}"`, total);
  }
  return text + formatSample(`${name}_sum`, labels, sum) + formatSample(`${name}_count`, labels, total);
}

function formatNumber(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
