/** How the controllers come back after a crash, or a change of leaders. */
export interface Restart {
  /** How long nobody is at work. */
  readonly afterMs: number;
  /** How many changes of its kind a cache lags behind at first; 0: it is up to date. */
  readonly changesBehind: number;
  /** How long it lags. */
  readonly behindMs: number;
}

/** What befalls a write of a reconciler. */
export type WriteFault =
  | { readonly kind: 'crash'; readonly carriedOut: boolean; readonly restart: Restart }
  | { readonly kind: 'leaderChange'; readonly restart: Restart }
  | { readonly kind: 'conflict' | 'refuse' | 'loseAnswer' };

/** What befalls an event on its way to a cache. */
export type EventFault =
  | { readonly kind: 'crash'; readonly restart: Restart }
  | { readonly kind: 'dropWatch' | 'expireWatch' | 'repeat' }
  | { readonly kind: 'hold'; readonly forMs: number };

/** Which writes and events of a run meet a fault, both counted from 1. */
export interface FaultPlan {
  readonly atWrite: ReadonlyMap<number, WriteFault>;
  readonly atEvent: ReadonlyMap<number, EventFault>;
}

/** How much there was to disturb in the run without faults. */
export interface RunExtent {
  readonly writes: number;
  readonly events: number;
}

export const noFaults: FaultPlan = Object.freeze({ atWrite: new Map(), atEvent: new Map() });

const atOnce: Restart = Object.freeze({ afterMs: 0, changesBehind: 0, behindMs: 0 });
const maxFaults = 3;
/** Shorter than any back-off, longer than one, and longer than the first ones of a key or a watch together. */
const pausesMs = [0, 50, 2_000, 20_000] as const;
const writeFaults = ['crash', 'crash', 'leaderChange', 'conflict', 'refuse', 'loseAnswer'] as const;
const eventFaults = ['crash', 'crash', 'dropWatch', 'expireWatch', 'expireWatch', 'repeat', 'hold', 'hold'] as const;

/** A crash right after a write, whose answer is lost with it. */
export function crashAfter(write: number): FaultPlan {
  return { ...noFaults, atWrite: new Map([[write, { kind: 'crash', carriedOut: true, restart: atOnce }]]) };
}

/** One to three faults, of any kinds at any places. */
export function drawFaults(random: () => number, { writes, events }: RunExtent): FaultPlan {
  const draw = new Draw(random);
  const atWrite = new Map<number, WriteFault>();
  const atEvent = new Map<number, EventFault>();
  for (let count = draw.number(1, maxFaults); count > 0; count -= 1) {
    if (random() < 0.5) atWrite.set(draw.number(1, writes), draw.writeFault());
    else atEvent.set(draw.number(1, events), draw.eventFault());
  }
  return { atWrite, atEvent };
}

class Draw {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  number(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  writeFault(): WriteFault {
    const kind = this.#oneOf(writeFaults);
    if (kind === 'crash') return { kind, carriedOut: this.#random() < 0.5, restart: this.#restart() };
    return kind === 'leaderChange' ? { kind, restart: this.#restart() } : { kind };
  }

  eventFault(): EventFault {
    const kind = this.#oneOf(eventFaults);
    if (kind === 'crash') return { kind, restart: this.#restart() };
    return kind === 'hold' ? { kind, forMs: this.#oneOf(pausesMs) } : { kind };
  }

  #restart(): Restart {
    const changesBehind = this.#random() < 0.5 ? 0 : this.number(1, 3);
    return { afterMs: this.#oneOf(pausesMs), changesBehind, behindMs: this.#oneOf(pausesMs) };
  }

  #oneOf<V>(values: readonly V[]): V {
    return values[this.number(0, values.length - 1)] as V;
  }
}
