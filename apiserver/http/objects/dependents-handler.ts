import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, ObjectKey } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Resource } from '../../registry/kinds/resource.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Registry } from '../../registry/registry.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { integerOf, queryOf } from '../request/query.ts';
import { requireRead } from '../response/cacheable-answer.ts';
import { sendJson } from '../response/responses.ts';

/** Finds the objects of served kinds by their owners. */
export interface KnownDependents {
  /** False while the objects of a large kind are still being added to the graph of owners, or removed from it. */
  areComplete(): boolean;
  /** Returns the resources and keys of the objects that have an owner reference with this uid. */
  of(uid: string): Iterable<{ readonly resource: Resource; readonly key: string }>;
}

export interface DependentsHandlerParts {
  readonly registry: Registry;
  readonly permissions: RequestPermissions;
  readonly dependents: KnownDependents;
}

export interface DependentsCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
}

/** A dependent, as the response shows it: its names, its owners, and its status. */
interface Dependent {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly status?: object;
}

/** A found object, as it is stored. */
interface Stored {
  readonly bytes: Buffer;
  readonly size: number;
}

const defaultLimit = 500;
const maxLimit = 1000;

/**
 * The maximum numbers of objects and of bytes that are read in one turn of the event loop, which takes some
 * milliseconds.
 */
const placesPerTurn = 2000;
const bytesPerTurn = 512 * 1024;

/** The response shows at most this many conditions, and at most this many owners, of each object. */
const maxConditions = 20;
/** The response shows at most this many characters of each text, such as the message of a condition. */
const maxTextLength = 1024;

/**
 * Handles `GET …/<name>/dependents`: returns the objects with an owner reference to the named object, and all
 * dependents of these objects, the nearest first. The user needs the permission to get the named object. The
 * response leaves out each object that the user may not list. It also leaves out the dependents of such an object,
 * except those that the named object or an object in the response owns, too.
 */
export class DependentsHandler {
  readonly #parts: DependentsHandlerParts;

  constructor(parts: DependentsHandlerParts) {
    this.#parts = parts;
  }

  async handle({ context, resource, key }: DependentsCall): Promise<void> {
    requireRead(context);
    const limit = Math.min(integerOf(queryOf(context), 'limit', 1) ?? defaultLimit, maxLimit);
    const { metadata } = decodeObject((await this.#parts.registry.get(resource, key)).bytes);
    const items = await this.#find(context, metadata.uid, limit + 1);
    sendJson(context, {
      apiVersion: 'controllers.homeostat.internal/v1alpha1',
      kind: 'Dependents',
      complete: items.length <= limit && this.#parts.dependents.areComplete(),
      items: items.slice(0, limit),
    });
  }

  async #find(context: Context, uid: string, count: number): Promise<readonly Dependent[]> {
    const { uids, found } = await this.#search(context, uid, count);
    const dependents: Dependent[] = [];
    let bytes = 0;
    for (const entry of found) {
      dependents.push(dependentOf(decodeObject(entry.bytes), uids));
      bytes += entry.size;
      if (bytes < bytesPerTurn) continue;
      bytes = 0;
      await nextTurn();
    }
    return dependents;
  }

  /** Searches for dependents, the nearest first. Returns at most `count` of them, and the UIDs of all found objects. */
  async #search(
    context: Context,
    uid: string,
    count: number,
  ): Promise<{ readonly uids: ReadonlySet<string>; readonly found: readonly Stored[] }> {
    const mayList = this.#mayList(context);
    // The loop adds dependents to the set over which it iterates. The set has each uid once, so the loop ends even when
    // two objects own each other.
    const uids = new Set([uid]);
    const found: Stored[] = [];
    let places = 0;
    for (const owner of uids) {
      for (const { resource, key } of this.#parts.dependents.of(owner)) {
        places += 1;
        const entry = mayList(resource, key) ? resource.cache.get(key) : undefined;
        if (entry?.uid !== undefined && !uids.has(entry.uid)) {
          uids.add(entry.uid);
          found.push(entry);
        }
        if (found.length === count) return { uids, found };
        if (places % placesPerTurn === 0) await nextTurn();
      }
    }
    return { uids, found };
  }

  /**
   * Returns a function that decides whether the user may list an object's kind in its namespace. It asks the authorizer
   * once for each kind and namespace.
   */
  #mayList(context: Context): (resource: Resource, key: string) => boolean {
    const known = new Map<string, boolean>();
    return (resource, key) => {
      const { group, version, plural } = resource.model;
      const at = key.lastIndexOf('/');
      const namespace = at < 0 ? undefined : key.slice(0, at);
      const id = `${resource.keyPrefix} ${namespace ?? ''}`;
      const isAllowed =
        known.get(id) ??
        this.#parts.permissions.allows(context, {
          isResource: true,
          verb: 'list',
          group,
          version,
          resource: plural,
          namespace,
        });
      known.set(id, isAllowed);
      return isAllowed;
    };
  }
}

/**
 * Describes a dependent. Only owners with one of these UIDs are included, because an object may have many other owner
 * references.
 */
function dependentOf(object: ApiObject, uids: ReadonlySet<string>): Dependent {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp, ownerReferences = [] } = metadata;
  const owners = ownerReferences.filter((each) => uids.has(each.uid)).slice(0, maxConditions);
  const status = statusOf(Reflect.get(object, 'status'));
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, generation, creationTimestamp, deletionTimestamp, ownerReferences: owners },
    ...(status === undefined ? {} : { status }),
  };
}

/** Returns the parts of a status that objects of all kinds may have. */
function statusOf(status: unknown): Dependent['status'] {
  if (!isJsonObject(status)) return undefined;
  const { phase, observedGeneration, conditions } = status;
  return {
    ...(typeof phase === 'string' ? { phase: phase.slice(0, maxTextLength) } : {}),
    ...(typeof observedGeneration === 'number' ? { observedGeneration } : {}),
    ...(Array.isArray(conditions) ? { conditions: conditions.slice(0, maxConditions).flatMap(conditionOf) } : {}),
  };
}

function conditionOf(condition: unknown): readonly object[] {
  if (!isJsonObject(condition)) return [];
  const fields = ['type', 'status', 'reason', 'message', 'lastTransitionTime'].flatMap((name) => {
    const value = condition[name];
    return typeof value === 'string' ? [[name, value.slice(0, maxTextLength)] as const] : [];
  });
  return [Object.fromEntries(fields)];
}
