import { Counter, Gauge, Histogram } from './instruments.ts';
import { checkMetricNames, formatHeader, formatLabels, formatSample, formatSeries } from './metric-text.ts';

export interface MetricOptions {
  /** The name by Prometheus' rules: letters, digits and `_`, with the unit at the end. */
  readonly name: string;
  readonly help: string;
  /** Names of the labels, whose values {@link Family.of} takes in this order. Default none. */
  readonly labels?: readonly string[];
}

export interface HistogramOptions extends MetricOptions {
  /** Upper bounds of the buckets, ascending; a bucket without a bound is added. */
  readonly buckets: readonly number[];
}

export interface SampledOptions extends MetricOptions {
  readonly type: 'counter' | 'gauge';
}

/** The values of a metric's labels, and its value. */
export type Sample = readonly [labels: readonly string[], value: number];

/** The series of one metric, one for each combination of label values. */
export interface Family<I> {
  /**
   * Returns the series with these label values; the first call creates it with the value 0. Keep the returned series
   * where you count often. Beyond 5,000 series, all further ones share one series whose labels are all `other`.
   */
  of(...values: readonly string[]): I;
}

interface Definition {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  /** Keyed by their labels as text. */
  readonly series: Map<string, Counter | Gauge | Histogram>;
  readonly sources: Set<() => string>;
}

type Labels = Readonly<Record<string, string>>;

const maxSeries = 5000;

/**
 * Metrics of a program, and their text for Prometheus. Instruments are plain numbers, so counting takes a few
 * nanoseconds; looking up labels each time took 200 (prom-client 15.1).
 */
export class Metrics {
  readonly #definitions: Map<string, Definition>;
  readonly #constant: Labels;

  /** @param of The metrics to share, and the labels that this object adds to each of its series. */
  constructor(of?: { readonly metrics: Metrics; readonly labels: Labels }) {
    this.#definitions = of === undefined ? new Map<string, Definition>() : of.metrics.#definitions;
    this.#constant = of === undefined ? {} : { ...of.metrics.#constant, ...of.labels };
  }

  /**
   * The counter of this name, made by the first call. Throws when a metric of that name has another type or other
   * labels.
   */
  counter(options: MetricOptions): Family<Counter> {
    return this.#family(this.#define(options, 'counter'), () => new Counter());
  }

  /** Returns a gauge as {@link Metrics.counter} returns a counter. */
  gauge(options: MetricOptions): Family<Gauge> {
    return this.#family(this.#define(options, 'gauge'), () => new Gauge());
  }

  /** Returns a histogram as {@link Metrics.counter} returns a counter. */
  histogram(options: HistogramOptions): Family<Histogram> {
    return this.#family(this.#define(options, 'histogram'), () => new Histogram(options.buckets));
  }

  /**
   * Adds series whose values `read` returns each time that the text is made; they are left out if `read` throws.
   * Returns a function that removes them.
   */
  sample(options: SampledOptions, read: () => Iterable<Sample>): () => void {
    const definition = this.#define(options, options.type);
    const source = (): string => {
      let text = '';
      for (const [values, value] of read()) {
        text += formatSample(definition.name, this.#labelsOf(definition, values), value);
      }
      return text;
    };
    definition.sources.add(source);
    return () => void definition.sources.delete(source);
  }

  /** Returns all metrics in Prometheus' text format 0.0.4, sorted by name. */
  text(): string {
    const definitions = [...this.#definitions.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return definitions.map(textOf).join('');
  }

  #define({ name, help, labels = [] }: MetricOptions, type: Definition['type']): Definition {
    const known = this.#definitions.get(name);
    if (known !== undefined) {
      if (known.type === type && known.labels.join() === labels.join()) return known;
      throw new Error(`there is a metric ${name} already: a ${known.type} with the labels [${known.labels.join()}]`);
    }
    checkMetricNames(name, [...labels, ...Object.keys(this.#constant)]);
    const definition = { name, help, type, labels, series: new Map(), sources: new Set<() => string>() };
    this.#definitions.set(name, definition);
    return definition;
  }

  #family<I extends Counter | Gauge | Histogram>(definition: Definition, create: () => I): Family<I> {
    const { series, labels } = definition;
    return {
      of: (...values) => {
        let text = this.#labelsOf(definition, values);
        const isFull = series.size >= maxSeries && !series.has(text);
        if (isFull) {
          text = formatLabels(
            labels,
            labels.map(() => 'other'),
          );
        }
        const present = (series.get(text) ?? create()) as I;
        series.set(text, present);
        return present;
      },
    };
  }

  #labelsOf({ labels }: Definition, values: readonly string[]): string {
    return formatLabels([...labels, ...Object.keys(this.#constant)], [...values, ...Object.values(this.#constant)]);
  }
}

function textOf(definition: Definition): string {
  const { name, series, sources } = definition;
  const lines = Array.from(series, ([labels, instrument]) => formatSeries(name, labels, instrument));
  return formatHeader(name, definition) + lines.join('') + [...sources].map(sampled).join('');
}

/** A failing part of the program must not hide the metrics of the others. */
function sampled(source: () => string): string {
  try {
    return source();
  } catch {
    return '';
  }
}

/** `leader_election_master_status` of one lease: 0 until this process leads. */
export function createLeaderStatus(metrics: Metrics, lease: string): (isLeader: boolean) => void {
  const help = 'Whether this process holds the lease.';
  const status = metrics.gauge({ name: 'leader_election_master_status', help, labels: ['name'] }).of(lease);
  return (isLeader) => {
    status.value = isLeader ? 1 : 0;
  };
}
