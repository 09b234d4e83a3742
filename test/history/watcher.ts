import { setTimeout as delay } from 'node:timers/promises';
import { WatchReader } from '../support/network/watch-reader.ts';
import type { WireEvent } from '../support/network/watch-reader.ts';
import { stateOf } from './cell-client.ts';
import type { CellClient } from './cell-client.ts';
import { cellsPath } from './cell-model.ts';
import type { Frame } from './history.ts';
import type { OpenWatch, Recorder } from './recorder.ts';

export interface WatcherParts {
  readonly name: string;
  /** The name of the watched cell; undefined for a watch of all cells in `keys`. */
  readonly key: string | undefined;
  readonly keys: readonly string[];
  readonly recorder: Recorder;
  readonly client: CellClient;
  /** Returns the port of the replica for the next connection. */
  readonly nextPort: () => number;
  /** Returns the time after which the watcher closes the next connection. */
  readonly nextStayMs: () => number;
}

/** The delay after the end of a connection, or after a failed list, before the next attempt. */
const restMs = 20;

/**
 * A client that lists, watches, and resumes after its last revision whenever the connection breaks. After a 410, it
 * lists again.
 */
export class Watcher {
  readonly #parts: WatcherParts;
  #watch: OpenWatch | undefined;
  #reader: WatchReader | undefined;
  #paused: WatchReader | undefined;

  constructor(parts: WatcherParts) {
    this.#parts = parts;
  }

  get key(): string | undefined {
    return this.#parts.key;
  }

  /** The revision of the last event, bookmark or list; the watcher has received all changes up to this revision. */
  get revision(): number {
    const streams = this.#watch?.streams ?? [];
    const last = streams.findLast(({ frames }) => frames.length > 0)?.frames.at(-1);
    return last === undefined ? (this.#watch?.after ?? 0) : revisionOf(last);
  }

  /** Stops reading until {@link resume}. Data from the server stay in the buffers. */
  pause(): void {
    this.#paused = this.#reader;
    this.#paused?.pause();
  }

  /** Reads from the paused connection again, if it still exists. */
  resume(): void {
    if (this.#paused?.closed === false) this.#paused.resume();
    this.#paused = undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#watch ??= await this.#list();
      if (this.#watch !== undefined) await this.#follow(this.#watch, signal);
      await delay(restMs);
    }
  }

  async #list(): Promise<OpenWatch | undefined> {
    const { name, key, keys, recorder, client, nextPort } = this.#parts;
    const call = recorder.moment();
    const answer = await client.list(nextPort(), key === undefined ? {} : { key });
    if (answer === undefined) return undefined;
    recorder.listing({ client: name, keys: key === undefined ? keys : [key], ...answer, call });
    return recorder.watch(name, { key, after: answer.revision });
  }

  /** Runs one connection of a watch from its start to its end. */
  async #follow(watch: OpenWatch, signal: AbortSignal): Promise<void> {
    const { key, nextPort, nextStayMs } = this.#parts;
    const selector = key === undefined ? '' : `&fieldSelector=metadata.name=${key}`;
    const stream: OpenWatch['streams'][number] = { after: this.revision, frames: [] };
    const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${stream.after}${selector}`;
    const { promise: closed, resolve: onClosed } = withResolvers();
    const onEvent = (event: WireEvent): void => this.#take(event, stream);
    const reader = await WatchReader.open({ port: nextPort() }, cellsPath + query, {}, { onEvent, onClosed }).catch(
      nobody,
    );
    if (reader === undefined) return;
    if (reader.status === 200) watch.streams.push(stream);
    if (reader.status === 410) this.#expire();
    const hangUp = (): void => reader.close();
    const stay = setTimeout(hangUp, reader.status === 200 ? nextStayMs() : 0);
    signal.addEventListener('abort', hangUp);
    if (signal.aborted) hangUp();
    this.#reader = reader;
    await closed;
    this.#reader = undefined;
    signal.removeEventListener('abort', hangUp);
    clearTimeout(stay);
  }

  #take({ type, object }: WireEvent, { frames }: { readonly frames: Frame[] }): void {
    const at = this.#parts.recorder.moment();
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        frames.push({ type, key: object.metadata.name, state: stateOf(object), at });
        return;
      case 'BOOKMARK':
        frames.push({ type, revision: Number(object.metadata.resourceVersion), at });
        return;
      case 'ERROR':
        if (object.code === 410) this.#expire();
    }
  }

  #expire(): void {
    if (this.#watch !== undefined) this.#watch.end = 'expired';
    this.#watch = undefined;
  }
}

function revisionOf(frame: Frame): number {
  return frame.type === 'BOOKMARK' ? frame.revision : frame.state.revision;
}

function nobody(): undefined {
  return undefined;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
