import { ApiError, parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ApiObject, WatchEvent } from '@homeostat/controller-runtime/api';
import type { WatchOptions } from '@homeostat/controller-runtime';
import type { Lister, Selection } from '../registry/lister.ts';
import type { Resource } from '../registry/resource.ts';
import type { ResourceTable } from '../registry/resource-table.ts';
import { parseRevision } from '../registry/revisions.ts';
import type { Revisions } from '../registry/revisions.ts';
import { translate } from '../registry/watch-translation.ts';
import type { ObjectReader } from './object-reader.ts';

export interface LocalWatchParts {
  readonly resource: () => Promise<Resource>;
  readonly lister: Lister;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly reader: ObjectReader;
}

/** A watch without a connection: a place in the kind's change feed. Rejects with Expired when that place is gone. */
export async function* watchLocally<T extends ApiObject>(
  parts: LocalWatchParts,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const resource = await parts.resource();
  const selection = selectionOf(parts.lister, resource, options);
  const after = parseRevision(options.resourceVersion ?? '');
  const withInitial = options.sendInitialEvents ?? after === 0;
  // Entries and revision in one turn: what changes later is in the feed.
  const initial = withInitial ? selection.entries() : [];
  let revision = withInitial || after === 0 ? parts.revisions.current : after;
  const wake = new Wake(parts.table, resource, options.signal);
  try {
    for (const entry of initial) yield { type: 'ADDED', object: parts.reader.read<T>(entry) };
    if (withInitial && options.sendInitialEvents === true && options.allowBookmarks === true)
      yield initialEnd(resource, revision);
    while (!wake.isOver()) {
      const changes = resource.feed.since(revision);
      for (const change of changes) {
        if (wake.isOver()) break;
        revision = change.revision;
        const seen = translate(change, selection.selects);
        if (seen !== undefined) yield { type: seen.type, object: parts.reader.read<T>(seen.entry) };
      }
      if (resource.feed.revision <= revision) await wake.next();
    }
    wake.throwIfClosed();
  } finally {
    wake.stop();
  }
}

function selectionOf(lister: Lister, resource: Resource, options: WatchOptions): Selection {
  return lister.select(resource, {
    labelSelector: parseLabelSelector(options.labelSelector ?? ''),
    fieldSelector: parseFieldSelector(options.fieldSelector ?? ''),
    sort: [{ field: 'metadata.name' }],
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  });
}

function initialEnd<T extends ApiObject>(resource: Resource, revision: number): WatchEvent<T> {
  const metadata = { resourceVersion: String(revision), annotations: { 'k8s.io/initial-events-end': 'true' } };
  return { type: 'BOOKMARK', object: { apiVersion: resource.apiVersion, kind: resource.model.kind, metadata } };
}

/** What ends a local watcher's waiting: a change, the caller's signal, the end of the kind. */
class Wake {
  readonly #releases: (() => void)[];
  readonly #signal: AbortSignal | undefined;
  #closed = false;
  #pending = false;
  #resolve: (() => void) | undefined;

  constructor(table: ResourceTable, resource: Resource, signal: AbortSignal | undefined) {
    const notify = (): void => this.#notify();
    const onClosed = (closed: Resource): void => {
      this.#closed ||= closed === resource;
      this.#notify();
    };
    table.on('closed', onClosed);
    signal?.addEventListener('abort', notify);
    this.#signal = signal;
    this.#releases = [
      resource.feed.subscribe(notify),
      () => table.off('closed', onClosed),
      () => signal?.removeEventListener('abort', notify),
    ];
  }

  isOver(): boolean {
    return this.#closed || this.#signal?.aborted === true;
  }

  throwIfClosed(): void {
    if (this.#closed) throw new ApiError('Expired', 'the kind is no longer served');
  }

  next(): Promise<void> {
    if (this.#pending || this.isOver()) {
      this.#pending = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#resolve = () => {
        this.#pending = false;
        resolve();
      };
    });
  }

  stop(): void {
    for (const release of this.#releases) release();
  }

  #notify(): void {
    this.#pending = true;
    this.#resolve?.();
    this.#resolve = undefined;
  }
}
