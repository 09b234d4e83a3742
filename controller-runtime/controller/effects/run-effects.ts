import { createHash } from 'node:crypto';
import { externalEffectModel, isAlreadyExists, isNotFound, unknownKeyOf } from '../../api/index.ts';
import type { ApiObject, ExternalEffect, NewObject, ObjectKey } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { formatTime } from '../../clock/format-time.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import type { EffectContext, FindEffect, OnceOptions } from '../definition/external-effects.ts';
import { ownerReferenceTo } from '../definition/owner-references.ts';
import { durationOption } from '../definition/parse-duration.ts';
import type { EffectMemory } from './effect-memory.ts';
import { formatResult, parseResult } from './effect-result.ts';

export interface RunEffectsParts {
  /** The client of the run. Its writes are refused when the term of the leader is over. */
  readonly client: Client;
  readonly memory: EffectMemory;
  readonly owner: ApiObject;
  readonly signal: AbortSignal;
}

type Effect = (context: EffectContext) => unknown;

/** The arguments with which a run requests an effect. */
interface Asked {
  readonly name: string;
  readonly effect: Effect;
  readonly find: FindEffect<unknown>['find'];
  /** The time after which the record expires; Infinity when it does not expire. */
  readonly expireAfterMs: number;
}

type Names = Pick<ControllerDefinition, 'name' | 'finalizer'>;

interface Intention {
  readonly controller: Names;
  readonly owner: ApiObject;
  readonly effect: string;
  readonly key: string;
}

const onceOptions: readonly string[] = ['find', 'expireAfter'] satisfies readonly (keyof OnceOptions<unknown>)[];
const lastOptions: readonly string[] = ['find'] satisfies readonly (keyof FindEffect<unknown>)[];
const maxNameLength = 63;

/**
 * The number of hexadecimal characters of the hash in the name of a record. 40 characters have 160 bits: enough that
 * different effects have different names.
 */
const hashCharacters = 40;

/** The external effects of one run. They are recorded, so that each effect happens only once. */
export class RunEffects {
  readonly #parts: RunEffectsParts;
  readonly #asked = new Set<string>();

  constructor(parts: RunEffectsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the result of the effect. If no result is recorded, looks for the effect of an earlier attempt, and causes
   * the effect if there is none.
   */
  async once(name: string, effect: Effect, options: OnceOptions<unknown>): Promise<unknown> {
    const asked = askedOf(name, effect, options);
    if (this.#asked.has(name)) throw new Error(`once(${JSON.stringify(name)}) was called twice in a run`);
    this.#asked.add(name);
    const { memory } = this.#parts;
    const known = memory.get(this.#idOf(name)) ?? (await this.#recorded(asked));
    return parseResult(known.result);
  }

  /** Returns the result of an effect if it is recorded or `find` finds it, but never causes the effect. */
  async last(name: string, options: FindEffect<unknown>): Promise<unknown> {
    checkName(name);
    checkFind(name, options, lastOptions);
    const known = this.#parts.memory.get(this.#idOf(name));
    if (known !== undefined) return parseResult(known.result);
    const record = await this.#read(name);
    if (record === undefined) return undefined;
    if (isDone(record)) return parseResult(record.status?.result);
    return (await options.find(this.#contextOf(record))) ?? undefined;
  }

  #idOf(name: string): string {
    return `${this.#parts.owner.metadata.uid} ${name}`;
  }

  #contextOf({ spec: { key } }: ExternalEffect): EffectContext {
    return { key, signal: this.#parts.signal };
  }

  async #recorded(asked: Asked): Promise<{ readonly result: string | undefined }> {
    const { memory, client } = this.#parts;
    const { name, find, effect } = asked;
    const id = this.#idOf(name);
    const record = await this.#read(name);
    if (record !== undefined && isDone(record)) {
      const done = memory.remember(id, record);
      if (!memory.isExpired(done)) return done;
      await memory.delete(id, done, client);
    } else if (record !== undefined) {
      const found = await find(this.#contextOf(record));
      if (found !== undefined && found !== null) return this.#record(asked, record, found);
      return this.#record(asked, record, await effect(this.#contextOf(record)));
    }
    const intention = await this.#intend(name);
    return this.#record(asked, intention, await effect(this.#contextOf(intention)));
  }

  async #read(name: string): Promise<ExternalEffect | undefined> {
    const { client, owner, memory } = this.#parts;
    const { name: recordName, namespace = '' } = recordKey(memory.parts.definition, owner, name);
    try {
      return await client.get(externalEffectModel, recordName, { namespace });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #intend(effect: string): Promise<ExternalEffect> {
    const { client, owner, memory } = this.#parts;
    const { definition: controller, uuid } = memory.parts;
    try {
      return await client.create(externalEffectModel, intentionOf({ controller, owner, effect, key: uuid() }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // Another process has written the record of this effect, so the effect may be under way. The next run calls
      // `find` first.
      throw new Error(
        `once(${JSON.stringify(effect)}): another process has begun the effect; the next run looks for its result`,
        { cause: error },
      );
    }
  }

  async #record(
    { name, expireAfterMs }: Asked,
    { metadata }: ExternalEffect,
    value: unknown,
  ): Promise<{ readonly result: string | undefined }> {
    const { client, memory } = this.#parts;
    const result = formatResult(name, value);
    const nowMs = memory.parts.clock.now();
    const status: ExternalEffect['status'] = {
      completionTime: formatTime(nowMs),
      ...(expireAfterMs === Infinity ? {} : { expirationTime: formatTime(nowMs + expireAfterMs + 999) }),
      ...(result === undefined ? {} : { result }),
    };
    const { name: recordName, namespace = '', uid, resourceVersion } = metadata;
    const patch = { type: 'merge', patch: { status } } as const;
    const options = { namespace, subresource: 'status', preconditions: { uid, resourceVersion } } as const;
    return memory.remember(this.#idOf(name), await client.patch(externalEffectModel, recordName, patch, options));
  }
}

function isDone({ status }: ExternalEffect): boolean {
  return status?.completionTime !== undefined;
}

function askedOf(name: string, effect: Effect, options: OnceOptions<unknown>): Asked {
  checkName(name);
  const once = `once(${JSON.stringify(name)})`;
  if (typeof effect !== 'function') throw new TypeError(`${once}: the effect must be a function`);
  checkFind(name, options, onceOptions);
  const { find, expireAfter } = options;
  if (expireAfter === undefined) return { name, effect, find, expireAfterMs: Infinity };
  const expireAfterMs = durationOption(`${once}: expireAfter`, expireAfter);
  if (expireAfterMs > 0) return { name, effect, find, expireAfterMs };
  throw new RangeError(`${once}: expireAfter must be above 0`);
}

function checkName(name: unknown): void {
  if (typeof name === 'string' && name.length > 0 && name.length <= maxNameLength) return;
  const given = typeof name === 'string' ? `${name.length} characters` : `a ${typeof name}`;
  throw new TypeError(`once: the name of an effect must have 1 to ${maxNameLength} characters, not ${given}`);
}

function checkFind(name: string, options: FindEffect<unknown> | undefined, keys: readonly string[]): void {
  const once = `once(${JSON.stringify(name)})`;
  const unknown = options === undefined ? undefined : unknownKeyOf(options, keys);
  if (unknown !== undefined) throw new TypeError(`${once}: ${unknown}`);
  if (typeof options?.find === 'function') return;
  throw new TypeError(`${once}: the option "find" must be a function that looks for what an earlier run made`);
}

/**
 * Returns the key of a record. The record's name begins with the name of the controller, because the permissions of
 * plugins depend on this prefix. The records of an owner without a namespace are in the namespace `default`, like its
 * events.
 */
function recordKey({ name, finalizer }: Names, { metadata }: ApiObject, effect: string): ObjectKey {
  const hash = createHash('sha256').update(`${finalizer}\n${metadata.uid}\n${effect}`).digest('hex');
  return { name: `${name}.${hash.slice(0, hashCharacters)}`, namespace: metadata.namespace ?? 'default' };
}

/** Returns the record of an effect that is about to happen. The record is deleted with its owner. */
function intentionOf({ controller, owner, effect, key }: Intention): NewObject<ExternalEffect> {
  return {
    metadata: { ...recordKey(controller, owner, effect), ownerReferences: [ownerReferenceTo(owner)] },
    spec: { controller: controller.finalizer, effect, key },
  };
}
