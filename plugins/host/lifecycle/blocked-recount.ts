import type { ApiServer } from '@homeostat/apiserver';
import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { BlockedDeletions, BlockedKind } from './blocked-deletions.ts';
import type { PluginInstance } from './plugin-instance.ts';

/** The interval between counts of the deletions that wait for finalizers of stopped plugins. */
const recountMs = 30_000;

export interface BlockedRecountParts {
  readonly server: Pick<ApiServer, 'client' | 'schemeManager' | 'indexingProgress'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instances: () => readonly PluginInstance[];
  /** Called after each count of the deletions that wait for a stopped plugin. */
  readonly onCounted: (instance: PluginInstance) => void;
}

/**
 * Repeatedly counts the deletions that wait for the finalizers of plugins that do not run. The number can change only
 * for kinds that are served without these plugins, such as the kinds of other plugins.
 */
export class BlockedRecount {
  readonly #parts: BlockedRecountParts;
  readonly #held = new Map<string, BlockedDeletions>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: BlockedRecountParts) {
    this.#parts = parts;
  }

  /** Stores the counter of blocked deletions of a plugin's latest run, in place of that of its previous run. */
  set(name: string, held: BlockedDeletions): void {
    this.#held.set(name, held);
  }

  delete(name: string): void {
    this.#held.delete(name);
  }

  /** The kinds with blocked deletions, as of the last count; undefined for a plugin that never ran. */
  kindsOf(name: string): readonly BlockedKind[] | undefined {
    return this.#held.get(name)?.kinds;
  }

  /**
   * Called when a plugin has stopped or failed. Every 30 s, counts the deletions that wait for finalizers of plugins
   * that do not run. The counts end when all plugins that have ever run are running again.
   */
  later(): void {
    const { clock, instances } = this.#parts;
    const isAwaited = instances().some((each) => !each.isRunning && this.#held.has(each.manifest.name));
    if (this.#timer !== undefined || this.#isStopped || !isAwaited) return;
    this.#timer = clock.setTimeout(() => void this.#count(), recountMs);
    this.#timer.unref?.();
  }

  stop(): void {
    this.#isStopped = true;
    this.#parts.clock.clearTimeout(this.#timer);
  }

  async #count(): Promise<void> {
    const { server, logger, instances, onCounted } = this.#parts;
    for (const instance of instances().filter(({ isRunning }) => !isRunning)) {
      const { name } = instance.manifest;
      try {
        const isCounted = await this.#held.get(name)?.count(server.client, server);
        if (isCounted === true && instances().includes(instance)) onCounted(instance);
      } catch (err) {
        logger.warn({ err, plugin: name }, "could not count the deletions that the plugin's finalizers block");
      }
    }
    this.#timer = undefined;
    this.later();
  }
}
