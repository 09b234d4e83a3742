import { controllerModel, explainObject, runModel } from '@homeostat/controller-runtime/api';
import type {
  ApiObject,
  Clock,
  ControllerObject,
  ExplainedOwner,
  ModelDescriptor,
  ObjectKey,
  OwnerReference,
  Run,
} from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Resource } from '../../registry/kinds/resource.ts';
import type { ResourceTable } from '../../registry/kinds/resource-table.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Registry } from '../../registry/registry.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { requireRead } from '../response/cacheable-answer.ts';
import { sendJson } from '../response/responses.ts';

export interface ExplanationHandlerParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly permissions: RequestPermissions;
  readonly clock: Clock;
}

export interface ExplanationCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
}

/** The maximum number of runs that are read, the newest first. */
const maxRuns = 200;
/** The number of runs that are read in one turn of the event loop, which takes some milliseconds. */
const runsPerTurn = 20;
/** The maximum number of owners that are read. */
const maxOwners = 50;

/**
 * Handles `GET …/<name>/explanation`: explains the state of an object. The user needs the permission to get the object.
 * Other objects that the user may not read are left out.
 */
export class ExplanationHandler {
  readonly #parts: ExplanationHandlerParts;

  constructor(parts: ExplanationHandlerParts) {
    this.#parts = parts;
  }

  async handle({ context, resource, key }: ExplanationCall): Promise<void> {
    requireRead(context);
    const { registry, clock } = this.#parts;
    const object = decodeObject((await registry.get(resource, key)).bytes);
    const explanation = explainObject({
      object,
      controllers: this.#controllers(context),
      runs: await this.#runs(context, object),
      owners: this.#owners(context, object),
      nowMs: clock.now(),
    });
    sendJson(context, explanation);
  }

  #controllers(context: Context): readonly ControllerObject[] | undefined {
    if (!this.#mayList(context, controllerModel)) return undefined;
    const found = this.#find(controllerModel);
    return Array.from(found?.cache.entries() ?? [], ({ bytes }) => decodeObject<ControllerObject>(bytes));
  }

  async #runs(context: Context, { metadata }: ApiObject): Promise<readonly Run[] | undefined> {
    const { namespace = 'default', uid } = metadata;
    if (!this.#mayList(context, runModel, namespace)) return undefined;
    const values = this.#find(runModel)?.cache.index('object.uid')?.values;
    if (values === undefined) return [];
    const found: { readonly revision: number; readonly bytes: Buffer }[] = [];
    values.forEach(
      values.rankOf(uid),
      values.rankAfter(uid),
      ({ revision, bytes }) => found.push({ revision, bytes }) > 0,
    );
    const newest = found.sort((a, b) => b.revision - a.revision).slice(0, maxRuns);
    const runs: Run[] = [];
    for (const { bytes } of newest) {
      runs.push(decodeObject<Run>(bytes));
      // The record of a run may have 40 KiB. To parse 200 records in one turn of the event loop would delay other
      // requests, so they are parsed in several turns.
      if (runs.length % runsPerTurn === 0) await nextTurn();
    }
    return runs;
  }

  #owners(context: Context, { metadata }: ApiObject): readonly ExplainedOwner[] {
    const { namespace, ownerReferences = [] } = metadata;
    return ownerReferences.slice(0, maxOwners).map((reference) => {
      const { apiVersion, kind, name, uid, controller = false } = reference;
      const exists = this.#exists(context, reference, namespace);
      return { owner: { apiVersion, kind, name, uid }, controller, ...(exists === undefined ? {} : { exists }) };
    });
  }

  /** Returns whether an owner exists; undefined when the user may not read the owner, or its kind is not served. */
  #exists(context: Context, { apiVersion, kind, name, uid }: OwnerReference, namespace?: string): boolean | undefined {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const model = this.#parts.table.models().find((each) => each.kind === kind && each.group === group);
    const resource = model === undefined ? undefined : this.#parts.table.find(group, version, model.plural);
    if (model === undefined || resource === undefined) return undefined;
    const isIn = model.scope === 'Namespaced' ? { namespace } : {};
    const attributes = {
      isResource: true,
      verb: 'get',
      group,
      version,
      resource: model.plural,
      name,
      ...isIn,
    } as const;
    if (!this.#parts.permissions.allows(context, attributes)) return undefined;
    const found = resource.cache.get(isIn.namespace === undefined ? name : `${isIn.namespace}/${name}`);
    return found?.uid === uid;
  }

  #mayList(context: Context, { group, version, plural: resource }: ModelDescriptor, namespace?: string): boolean {
    return this.#parts.permissions.allows(context, {
      isResource: true,
      verb: 'list',
      group,
      version,
      resource,
      namespace,
    });
  }

  #find({ group, version, plural }: ModelDescriptor): Resource | undefined {
    return this.#parts.table.find(group, version, plural);
  }
}
