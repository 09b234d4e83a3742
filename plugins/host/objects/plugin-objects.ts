import { ignoreNotFound } from '@homeostat/controller-runtime/api';
import { serviceOwner } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller, createManager } from '@homeostat/controller-runtime';
import type { Manager, ReconcileRequest, ReconcileResult } from '@homeostat/controller-runtime';
import type { Clock, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { pluginKind, wishesOf } from './plugin-kind.ts';
import type { PluginWishes } from '../lifecycle/plugin-state.ts';
import type { PluginObject } from './plugin-kind.ts';
import { writePluginObject } from './plugin-object-write.ts';
import { PluginObjectWriter } from './plugin-object-writer.ts';
import type { PluginReport } from './plugin-report.ts';

/**
 * After the deletion of an object, another server that has the plugin may create the object again. The host waits for
 * this time, although the other server usually needs only a fraction of a second. The time is longer than the longest
 * delay between two attempts of {@link PluginObjectWriter}.
 */
const recreationMs = 60_000;

export interface PluginObjectsParts {
  readonly server: Pick<ApiServer, 'schemeManager' | 'client' | 'whenReady' | 'sharesDatabase'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Called for each object when the host begins to `follow` the objects, and for an object after each of its changes.
   * Calls for one name do not overlap.
   */
  readonly onDesired: (desired: DesiredPlugin) => Promise<void>;
  /**
   * Called when an object was deleted. Returns true when its plugin was removed as well; otherwise the object is
   * created again, if the host has the plugin.
   */
  readonly onDeleted: (name: string) => Promise<boolean>;
  /** Called when an object was deleted, and no other server of the same database has created it again. */
  readonly onAbandoned: (name: string) => Promise<void>;
}

/** The desired state in an object of kind Plugin. */
export interface DesiredPlugin extends PluginWishes {
  readonly name: string;
}

/**
 * The objects of the plugins. Writes the host's reports into the objects, and passes the fields that users set in them
 * to the host. A failure or delay here does not affect a plugin. Used once: open, follow, close.
 */
export class PluginObjects {
  readonly #parts: PluginObjectsParts;
  readonly #kind: ModelDescriptor<PluginObject>;
  readonly #manager: Manager;
  readonly #writers = new Map<string, PluginObjectWriter>();
  /** By object name: the last `metadata.generation` that the host has processed. */
  readonly #generations = new Map<string, number>();
  /** By name of a deleted object: the time of the clock when its absence was noticed. */
  readonly #absentSinceMs = new Map<string, number>();
  readonly #unfollow = new AbortController();
  readonly #closing = new AbortController();
  #opened: Promise<readonly DesiredPlugin[]> | undefined;
  #followed: Promise<void> | undefined;
  #isServed = false;

  constructor(parts: PluginObjectsParts) {
    const { server, clock, logger } = parts;
    this.#parts = parts;
    this.#kind = pluginKind(server.schemeManager.serviceDomain);
    const reconcile = async (request: ReconcileRequest): Promise<ReconcileResult> => this.#reconcile(request);
    const definition = controller(this.#kind, { name: 'plugins', reconcile: { reconcile } });
    this.#manager = createManager({ client: server.client, clock, logger, controllers: [definition] });
  }

  /**
   * Registers the kind, and returns the desired state in each stored object. Never rejects: plugins start even without
   * their objects.
   */
  open(): Promise<readonly DesiredPlugin[]> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /** Starts to handle changes of the objects. */
  follow(): void {
    if (this.#isServed && !this.#unfollow.signal.aborted) this.#followed = this.#manager.run(this.#unfollow.signal);
  }

  /** Writes a report to the Plugin object, in the background. Reports wait until `open` has registered the kind. */
  report(name: string, report: PluginReport): void {
    this.#writer(name).push(report);
  }

  /** True when all reports are written, and all changes of objects are handled. */
  isIdle(): boolean {
    const isQuiet = this.#followed === undefined || this.#manager.isIdle();
    return isQuiet && (!this.#isServed || [...this.#writers.values()].every((writer) => writer.isIdle()));
  }

  /** Writes the remaining reports, and unregisters the kind Plugin. Never rejects. */
  async close(): Promise<void> {
    this.#unfollow.abort();
    await this.#opened;
    await this.#followed;
    this.#closing.abort();
    await Promise.all([...this.#writers.values()].map(async (writer) => writer.drained()));
    if (!this.#isServed) return;
    this.#isServed = false;
    try {
      this.#parts.server.schemeManager.unregister(this.#kind, serviceOwner);
    } catch (err) {
      this.#parts.logger.error({ err }, 'could not unregister the kind Plugin');
    }
  }

  async #open(): Promise<readonly DesiredPlugin[]> {
    const { server, logger } = this.#parts;
    try {
      server.schemeManager.register(this.#kind);
      await server.whenReady(this.#kind);
      const { items } = await server.client.list(this.#kind);
      this.#isServed = true;
      for (const { metadata } of items) this.#generations.set(metadata.name, metadata.generation);
      for (const writer of this.#writers.values()) writer.open();
      return items.map(({ metadata, spec }) => ({ name: metadata.name, ...wishesOf(spec) }));
    } catch (err) {
      logger.error({ err }, 'could not serve the kind Plugin, so no plugin has an object of this kind');
      return [];
    }
  }

  async #reconcile({ name, client }: ReconcileRequest): Promise<ReconcileResult> {
    const object = await client.get(this.#kind, name).catch(ignoreNotFound);
    if (object === undefined) this.#forget(name, await this.#parts.onDeleted(name));
    else {
      this.#absentSinceMs.delete(name);
      this.#generations.set(name, object.metadata.generation);
      await this.#parts.onDesired({ name, ...wishesOf(object.spec) });
    }
    // A client may have changed the fields that the host writes, or deleted the object, so the host writes it again.
    this.#writers.get(name)?.refresh();
    if (object === undefined) return this.#noteAbsence(name);
  }

  /**
   * Handles the absence of a deleted object. While another server may still create the object again, resolves with the
   * delay until the next check. Otherwise, calls `onAbandoned`.
   */
  async #noteAbsence(name: string): Promise<ReconcileResult> {
    const { clock, server, onAbandoned } = this.#parts;
    const nowMs = clock.monotonicMs();
    const sinceMs = this.#absentSinceMs.get(name) ?? nowMs;
    const waitMs = server.sharesDatabase ? sinceMs + recreationMs - nowMs : 0;
    if (waitMs > 0) {
      this.#absentSinceMs.set(name, sinceMs);
      return { after: waitMs };
    }
    await onAbandoned(name);
    this.#absentSinceMs.delete(name);
  }

  #forget(name: string, isGone: boolean): void {
    this.#generations.delete(name);
    if (isGone || this.#writers.get(name)?.latest?.identity === undefined) this.#writers.delete(name);
  }

  #writer(name: string): PluginObjectWriter {
    const present = this.#writers.get(name);
    if (present !== undefined) return present;
    const { clock, logger } = this.#parts;
    const write = async (report: PluginReport): Promise<void> => this.#write(name, report);
    const writer = new PluginObjectWriter({ name, clock, logger, write, closing: this.#closing.signal });
    this.#writers.set(name, writer);
    if (this.#isServed) writer.open();
    return writer;
  }

  async #write(name: string, report: PluginReport): Promise<void> {
    const observedGeneration = this.#generations.get(name);
    await writePluginObject(report, {
      client: this.#parts.server.client,
      kind: this.#kind,
      name,
      observedGeneration,
    });
  }
}
