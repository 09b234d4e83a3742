import { checkName } from '../api/index.ts';
import { linkAbort } from '../client/abort.ts';
import type { Controller } from '../controller/controller.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import type { ElectionSettings } from '../election/election-options.ts';
import { ShardElection } from '../election/shard-election.ts';
import type { SeatParts } from '../election/shard-seat.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface ShardedControllerParts extends Omit<SeatParts, 'host'> {
  readonly controller: Controller;
  readonly metrics: Metrics;
}

/**
 * Returns the settings of the leases of a sharded controller, which are named `<lease>.<controller>.<shard>`; undefined
 * without an election, or for a controller without shards. Throws RangeError when such a name is too long.
 */
export function shardSettings(
  election: ElectionSettings | undefined,
  { name: controller, shards }: ControllerDefinition,
): (ElectionSettings & { readonly shards: number }) | undefined {
  if (election === undefined || shards === undefined) return undefined;
  const name = `${election.name}.${controller}`;
  const [problem] = checkName(`${name}.${shards - 1}`, 'subdomain');
  if (problem === undefined) return { ...election, name, shards };
  throw new RangeError(
    `controller "${controller}": the lease of a shard cannot be named "${name}.${shards - 1}": ${problem}`,
  );
}

/** A controller whose keys several processes share. */
export class ShardedController {
  readonly #controller: Controller;
  readonly #election: ShardElection;
  readonly #shards: number;
  readonly #parts: ShardedControllerParts;

  constructor(settings: ElectionSettings & { readonly shards: number }, parts: ShardedControllerParts) {
    this.#controller = parts.controller;
    this.#shards = settings.shards;
    this.#parts = parts;
    this.#election = new ShardElection(settings, settings.shards, { ...parts, host: parts.controller });
  }

  get shards(): { readonly held: readonly number[]; readonly of: number } {
    return { held: this.#election.held, of: this.#shards };
  }

  /** True when each shard is reconciled by some process, and no shard is moving. */
  get isSettled(): boolean {
    return this.#election.isSettled;
  }

  healthProblem(): string | undefined {
    const { overdue } = this.#election;
    return overdue === undefined ? undefined : `the lease "${overdue}" was neither renewed nor released`;
  }

  /**
   * Runs until the signal aborts or the controller fails. Settles when everything has stopped, and the leases are
   * released.
   */
  async run(signal: AbortSignal, name: string): Promise<void> {
    const help = 'Shards of a controller whose keys this process reconciles.';
    const options = { name: 'controller_runtime_shards_held', help, labels: ['controller'], type: 'gauge' } as const;
    const endSamples = this.#parts.metrics.sample(options, () => [[[name], this.#election.held.length]]);
    const until = new AbortController();
    const unlink = linkAbort(until, signal);
    const stop = new AbortController();
    const running = this.#controller.run(stop.signal).finally(() => until.abort());
    try {
      await this.#election.run(until.signal);
    } finally {
      stop.abort();
      await running.finally(() => {
        unlink();
        endSamples();
      });
    }
  }
}
