import type { InformerHandler } from '@homeostat/controller-runtime';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { formatKey, keyOf } from '@homeostat/controller-runtime/api';

/** A handler that makes a copy of the cache from its events, and records impossible sequences of events. */
export class ReplayedEvents implements InformerHandler<ApiObject> {
  /** The copy of the informer's cache that the events produce: the resourceVersion of each object, by key. */
  readonly copy = new Map<string, string>();
  /** Descriptions of the events that contradict earlier ones; empty while the events are one consistent history. */
  readonly contradictions: string[] = [];
  readonly calls: string[] = [];
  readonly #newest = new Map<string, number>();

  onAdd(object: ApiObject, { initial }: { readonly initial: boolean }): void {
    const key = this.#note('add', object);
    if (this.copy.has(key)) this.#contradict(`${key} is added, but already exists`);
    if (initial && this.#newest.has(key)) this.#contradict(`${key} is reported as initial, but was reported before`);
    this.#advance(key, object);
    this.copy.set(key, object.metadata.resourceVersion);
  }

  onUpdate(previous: ApiObject, object: ApiObject): void {
    const key = this.#note('update', object);
    const { resourceVersion } = previous.metadata;
    if (this.copy.get(key) !== resourceVersion) {
      this.#contradict(`${key} is updated from ${resourceVersion}, but was at ${String(this.copy.get(key))}`);
    }
    if (previous.metadata.uid !== object.metadata.uid) this.#contradict(`${key} is updated, but has another uid`);
    this.#advance(key, object);
    this.copy.set(key, object.metadata.resourceVersion);
  }

  onDelete(object: ApiObject): void {
    const key = this.#note('delete', object);
    if (!this.copy.delete(key)) this.#contradict(`${key} is deleted, but did not exist`);
    const revision = Number(object.metadata.resourceVersion);
    if (revision < (this.#newest.get(key) ?? 0))
      this.#contradict(`${key} is deleted with an older state than its last one`);
    this.#newest.set(key, revision);
  }

  /** Checks that the states of an object come in the order of their revisions, each once. */
  #advance(key: string, { metadata }: ApiObject): void {
    const revision = Number(metadata.resourceVersion);
    if (revision <= (this.#newest.get(key) ?? 0)) this.#contradict(`${key} arrives at ${revision} again or too late`);
    this.#newest.set(key, revision);
  }

  #note(call: string, object: ApiObject): string {
    const key = formatKey(keyOf(object));
    this.calls.push(`${call} ${key}@${object.metadata.resourceVersion}`);
    return key;
  }

  #contradict(what: string): void {
    this.contradictions.push(`${what} (call ${this.calls.length})`);
  }
}
