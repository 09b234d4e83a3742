import { apiVersionOf, descriptorOf, freezeDeep } from '../../api/index.ts';
import type { ApiObject, Clock, Logger, Model, ObjectList, WatchEvent } from '../../api/index.ts';
import type { Client, ListOptions, WatchOptions } from '../client.ts';
import type { HttpTransport } from './http-transport.ts';
import { watchOverHttp } from './http-watch.ts';
import { listEverything } from '../list-everything.ts';
import { listQuery } from './query.ts';
import { collectionPath } from './resource-path.ts';

export interface HttpReadsParts {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1) for the jitter of the delays. */
  readonly random: () => number;
  /** The time without a byte after which the connection of a watch is closed. */
  readonly silenceMs: number;
  /** True to request `PartialObjectMetadata` in place of the objects. Default false. */
  readonly metadataOnly?: boolean;
}

/** The lists and watches of a client over HTTP. */
export class HttpReads implements Pick<Client, 'list' | 'watch'> {
  readonly #parts: HttpReadsParts;

  constructor(parts: HttpReadsParts) {
    this.#parts = parts;
  }

  async list<T extends ApiObject>(model: Model<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const path = collectionPath(descriptorOf(model), options.namespace);
    const accept = this.#accept('PartialObjectMetadataList');
    const request = { method: 'GET', path, query: listQuery(options), signal: options.signal, ...accept } as const;
    return freezeDeep((await this.#parts.transport.send(request)) as ObjectList<T>);
  }

  watch<T extends ApiObject>(model: Model<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    const descriptor = descriptorOf(model);
    const { allowBookmarks: _allow, sendInitialEvents: _send, ...selection } = options;
    const everything = { ...selection, ...revisionMatch(options.resourceVersion) };
    const path = collectionPath(descriptor, options.namespace);
    const list = (signal: AbortSignal) => listEverything(this, model, { ...everything, signal });
    const kind = { apiVersion: apiVersionOf(descriptor), kind: descriptor.kind };
    const accept = this.#accept('PartialObjectMetadata');
    return watchOverHttp({ ...this.#parts, path, list, ...kind, ...accept }, options);
  }

  #accept(kind: string): { readonly accept?: string } {
    return this.#parts.metadataOnly === true ? { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } : {};
  }
}

/**
 * Returns the options of the list with which a watch begins. The listed state must not be older than the revision of
 * the watch.
 */
function revisionMatch(resourceVersion: string | undefined): Pick<ListOptions, 'resourceVersionMatch'> {
  return resourceVersion === undefined || resourceVersion === '0' ? {} : { resourceVersionMatch: 'NotOlderThan' };
}
