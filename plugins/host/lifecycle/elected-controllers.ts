import { createManager } from '@homeostat/controller-runtime';
import type {
  ControllerDefinition,
  LeaderElectionOptions,
  Manager,
  ManagerOptions,
} from '@homeostat/controller-runtime';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { PluginManager } from './controllers-page.ts';

/**
 * The times of the Lease. They decide how long the other replicas wait after the leader has crashed; see
 * {@link LeaderElectionOptions}.
 */
export type LeaseTimes = Pick<LeaderElectionOptions, 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'>;

export interface ElectedControllersParts extends Pick<ManagerOptions, 'client' | 'clock' | 'metrics' | 'report'> {
  readonly logger: Logger;
  /** When absent, the controllers work in every process. */
  readonly leaderElection?: LeaderElectionOptions;
}

/**
 * The controllers of one plugin. With leader election, they work in one replica at a time. A replica that loses the
 * lease becomes a candidate again under a new identity, so that code from its previous term can no longer write.
 */
export class ElectedControllers implements PluginManager, Pick<Manager, 'isIdle'> {
  readonly #parts: ElectedControllersParts;
  readonly #definitions = new Map<string, ControllerDefinition>();
  #manager: Manager;
  /**
   * True from the loss of the lease until the next manager exists. The next manager starts controllers that are added
   * in this time.
   */
  #isBetween = false;

  constructor(parts: ElectedControllersParts) {
    this.#parts = parts;
    this.#manager = this.#createManager();
  }

  /** Adds a controller. Throws when another controller has the same name, or when {@link run} has ended. */
  add(definition: ControllerDefinition): void {
    const { name } = definition;
    if (!this.#isBetween) this.#manager.add(definition);
    else if (this.#definitions.has(name))
      throw new Error(`there is a controller "${name}" already: give one of the two another name`);
    this.#definitions.set(name, definition);
  }

  async remove(name: string): Promise<void> {
    this.#definitions.delete(name);
    await this.#manager.remove(name);
  }

  controllers(): ReturnType<Manager['controllers']> {
    return this.#manager.controllers();
  }

  queue(...parameters: Parameters<Manager['queue']>): ReturnType<Manager['queue']> {
    return this.#manager.queue(...parameters);
  }

  stateOf(...parameters: Parameters<Manager['stateOf']>): ReturnType<Manager['stateOf']> {
    return this.#manager.stateOf(...parameters);
  }

  runs(...parameters: Parameters<Manager['runs']>): ReturnType<Manager['runs']> {
    return this.#manager.runs(...parameters);
  }

  isIdle(): boolean {
    return this.#manager.isIdle();
  }

  /**
   * Runs until the signal aborts. Never rejects: when a manager ends because it lost the lease, the next manager
   * starts.
   */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#manager.run(signal);
        this.#isBetween = false;
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.#parts.logger.warn({ err }, 'the controllers of the plugin have stopped, and the next election has begun');
        this.#manager = this.#createManager();
        this.#isBetween = false;
      }
    }
  }

  #createManager(): Manager {
    const { leaderElection, ...parts } = this.#parts;
    const controllers = [...this.#definitions.values()];
    if (leaderElection === undefined) return createManager({ ...parts, controllers });
    let hasLed = false;
    const observe: LeaderElectionOptions['observe'] = (status) => {
      hasLed ||= status.isLeader;
      this.#isBetween = hasLed && !status.isLeader;
      leaderElection.observe?.(status);
    };
    return createManager({ ...parts, controllers, leaderElection: { ...leaderElection, observe } });
  }
}
