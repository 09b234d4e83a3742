import { noFaults } from './fault-plan.ts';
import type { EventFault, FaultPlan, Restart, RunExtent, WriteFault } from './fault-plan.ts';

const maxFaults = 3;
/**
 * The pauses from which the check chooses at random. Each is either shorter than any back-off of a key or a watch,
 * longer than one back-off, or longer than several back-offs in a row.
 */
const pausesMs = [0, 50, 2_000, 20_000] as const;
/** The delays from which the check chooses at random. A failed request rejects after the chosen delay. */
const delaysMs = [0, 0, 50, 2_000] as const;
const writeFaults = ['crash', 'crash', 'leaderChange', 'conflict', 'refuse', 'loseAnswer'] as const;
const eventFaults = ['crash', 'crash', 'dropWatch', 'expireWatch', 'expireWatch', 'repeat', 'hold', 'hold'] as const;

/**
 * Chooses one to three random faults of writes and events for one run of the scenario. `sweptFaults` chooses the faults
 * of reads and of calls to external systems: it covers up to a hundred reads and up to a hundred calls, with one fault
 * in each run of the scenario.
 */
export function drawFaults(random: () => number, extent: RunExtent): FaultPlan {
  const draw = new Draw(random);
  const atWrite = new Map<number, WriteFault>();
  const atEvent = new Map<number, EventFault>();
  for (let count = draw.number(1, maxFaults); count > 0; count -= 1) {
    if (random() < 0.5) atWrite.set(draw.number(1, extent.writes.length), draw.writeFault());
    else atEvent.set(draw.number(1, extent.events), draw.eventFault());
  }
  return { ...noFaults, atWrite, atEvent };
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
    if (kind === 'leaderChange') return { kind, restart: this.#restart() };
    return { kind, lateMs: this.#oneOf(delaysMs), behindMs: this.#oneOf(pausesMs) };
  }

  eventFault(): EventFault {
    const kind = this.#oneOf(eventFaults);
    if (kind === 'crash') return { kind, restart: this.#restart() };
    return kind === 'hold' ? { kind, forMs: this.#oneOf(pausesMs) } : { kind };
  }

  #restart(): Restart {
    const changesBehind = this.#random() < 0.5 ? 0 : this.number(1, 3);
    const behindMs = this.#oneOf(pausesMs);
    // In a real process, the cache of each kind lags independently of the others. So `behindBits` is random: its bits
    // say which kinds have a cache that lags after this restart.
    return { afterMs: this.#oneOf(pausesMs), changesBehind, behindMs, behindBits: this.number(0, 2 ** 31 - 1) };
  }

  #oneOf<V>(values: readonly V[]): V {
    const drawn = values[this.number(0, values.length - 1)];
    if (drawn === undefined) throw new RangeError('there is nothing to draw from');
    return drawn;
  }
}
