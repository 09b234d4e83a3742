import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';
import { HttpConnection } from './http-load.ts';
import type { Row } from '../measure/result-table.ts';
import { alternate } from '../measure/rounds.ts';
import type { Settings } from '../measure/settings.ts';

const connectionCount = 64;

/**
 * The two contestants receive requests alternately, each for this time: it is enough for about a thousand requests, but
 * so short that other work on the machine affects both contestants equally.
 */
const turnMs = 100;

/**
 * One contestant: a server, and the requests that it receives. The two contestants may be the same server with
 * different requests.
 */
export interface Served {
  readonly child: { cpuMs(): number };
  readonly url: string;
  readonly request: () => string;
}

interface Contestants {
  readonly ours: Served;
  readonly limit: Served;
  /**
   * The target: the limit's processor time, divided by ours, must be at least this number. If it is absent, the row has
   * no target.
   */
  readonly least?: number;
}

/**
 * Compares the throughput and the processor time of two servers, which run in short turns, in the order A B B A. The
 * target applies to the ratio of processor times, because on a machine with other work, the throughput of a turn
 * depends on that work.
 */
export async function besideOther(
  name: string,
  { ours, limit, least }: Contestants,
  { rounds, seconds }: Settings,
): Promise<Row> {
  using own = await Turns.begin(ours);
  using other = await Turns.begin(limit);
  const turns = { ours: () => own.take(), limit: () => other.take() };
  const count = Math.ceil((rounds * seconds * 1000) / turnMs);
  await alternate(Math.ceil((seconds * 1000) / turnMs), turns);
  const found = await alternate(count, turns);
  // For each turn of a contestant, `costs` counts the processor time of its process until the contestant's next turn
  // starts. When both contestants are the same process, this time would include turns of the other contestant, so
  // `ownCosts` is used: it counts only the time within each turn.
  const isShared = ours.child === limit.child;
  const costOf = (taken: Turns): number => quickerHalf(isShared ? taken.ownCosts(count) : taken.costs(count));
  const [cost, otherCost] = [costOf(own), costOf(other)];
  const ratio = otherCost / cost;
  const note = `processor time of a request: ours ${cost.toFixed(1)} us, limit ${otherCost.toFixed(1)} us; limit / ours: ${ratio.toFixed(3)}`;
  if (least === undefined) return { name, ...found, note };
  const target = {
    text: `processor time, limit / ours: ${ratio.toFixed(3)} >= ${least.toString()}`,
    isMet: ratio >= least,
  };
  return { name, ...found, target, note };
}

/**
 * Returns the mean of the smaller half of the measured costs. Other processes on the machine can only increase a
 * measured cost, so the smaller half is closer to the true cost.
 */
function quickerHalf(costs: readonly number[]): number {
  const half = [...costs].sort((a, b) => a - b).slice(0, Math.ceil(costs.length / 2));
  return half.reduce((sum, cost) => sum + cost, 0) / half.length;
}

/**
 * Sends requests to one of the two compared servers, in turns of {@link turnMs}, and measures each turn. The
 * connections stay open between the turns.
 */
class Turns implements Disposable {
  readonly #served: Served;
  readonly #connections: readonly HttpConnection[];
  /**
   * The measured turns of this server. `startMs` and `endMs`: the processor time that the server's process had used at
   * the start and at the end of the turn. `sent`: the number of requests in the turn.
   */
  readonly #taken: { readonly startMs: number; readonly endMs: number; readonly sent: number }[] = [];

  private constructor(served: Served, connections: readonly HttpConnection[]) {
    this.#served = served;
    this.#connections = connections;
  }

  static async begin(served: Served): Promise<Turns> {
    const opened = Array.from({ length: connectionCount }, () => HttpConnection.connect(served.url));
    return new Turns(served, await Promise.all(opened));
  }

  /** Sends one request after the other on each connection, for {@link turnMs}. Returns the figures of this turn. */
  async take(): Promise<Figures> {
    const startMs = this.#served.child.cpuMs();
    const latencies: number[] = [];
    const begunMs = performance.now();
    const endMs = begunMs + turnMs;
    const converse = async (connection: HttpConnection): Promise<void> => {
      for (let sentMs = begunMs; sentMs < endMs;) {
        await connection.send(this.#served.request());
        const answeredMs = performance.now();
        latencies.push(answeredMs - sentMs);
        sentMs = answeredMs;
      }
    };
    await Promise.all(this.#connections.map(converse));
    this.#taken.push({ startMs, endMs: this.#served.child.cpuMs(), sent: latencies.length });
    return figuresOf(Float64Array.from(latencies), performance.now() - begunMs);
  }

  /**
   * Returns the mean processor time of a request in each of the last `count` turns (calls of {@link take}), in
   * microseconds. Processor time after a turn also counts, until this server's next turn starts, because the server may
   * do work after its last response.
   */
  costs(count: number): readonly number[] {
    const starts = [...this.#taken.map(({ startMs }) => startMs), this.#served.child.cpuMs()];
    const all = this.#taken.map(
      ({ startMs, sent }, turn) => (((starts[turn + 1] ?? Number.NaN) - startMs) / sent) * 1000,
    );
    return all.slice(-count);
  }

  /**
   * Returns the mean processor time of a request in each of the last `count` turns (calls of {@link take}), in
   * microseconds. Processor time after the last response of a turn does not count.
   */
  ownCosts(count: number): readonly number[] {
    return this.#taken.slice(-count).map(({ startMs, endMs, sent }) => ((endMs - startMs) / sent) * 1000);
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }
}
