/** A counter: a number that only increases. */
export class Counter {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  inc(by: number = 1): void {
    this.#value += by;
  }
}

/** A gauge: a number that may increase and decrease. */
export class Gauge {
  value = 0;
}

/** A histogram: it counts observations by bucket, and adds up their values. */
export class Histogram {
  /** The upper bounds of the buckets, ascending. */
  readonly buckets: readonly number[];
  /** The number of observations in each single bucket. The last bucket has no upper bound. */
  readonly counts: Float64Array;
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.buckets = buckets;
    this.counts = new Float64Array(buckets.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    const { buckets, counts } = this;
    let bucket = 0;
    while (value > (buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }
}
