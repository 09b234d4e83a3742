import { applyJsonPatch, applyMergePatch, isConflict } from '@homeostat/controller-runtime/api';
import type { ObjectKey, ScaleSubresource } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { readScale, scaleOf, scalePatch } from '../../registry/rules/scale.ts';
import type { ScaleRequest } from '../../registry/rules/scale.ts';
import type { ResponseFormat } from '../request/accept.ts';
import { readObjectBody } from '../request/object-body.ts';
import { methodNotAllowed } from '../request/path-errors.ts';
import { patchTypes, readPatch } from '../request/patch-body.ts';
import { firstOf } from '../request/query.ts';
import { sendBytes } from '../response/responses.ts';
import { readWriteOptions } from '../request/write-options.ts';

/** A request for the Scale of an object. */
export interface ScaleCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly format: ResponseFormat;
  readonly paths: ScaleSubresource;
}

/**
 * The maximum number of tries of a patch without a resourceVersion. If another write changed the object in the
 * meantime, the next try applies the patch to the new state.
 */
const maxTries = 5;

/**
 * Handles GET, PUT and PATCH of `/<name>/scale` (`autoscaling/v1` Scale), for kinds that declare which of their fields
 * have the numbers of replicas.
 */
export class ScaleHandler {
  readonly #registry: Registry;
  readonly #bodies: BodyCodec;

  constructor(registry: Registry, bodies: BodyCodec) {
    this.#registry = registry;
    this.#bodies = bodies;
  }

  handle(call: ScaleCall): Promise<void> {
    const { method } = call.context;
    if (method === 'GET' || method === 'HEAD') return this.#get(call);
    if (method === 'PUT') return this.#update(call);
    if (method === 'PATCH') return this.#patch(call);
    throw methodNotAllowed(call.context, call.resource.model);
  }

  async #get(call: ScaleCall): Promise<void> {
    const { context, resource, key } = call;
    const entry = await this.#registry.get(resource, key, firstOf(context.query, 'resourceVersion'));
    send(call, entry.bytes);
  }

  async #update(call: ScaleCall): Promise<void> {
    const body = await readObjectBody(call.context, this.#bodies);
    await this.#write(call, readScale(call.resource.model, call.key.name, body()), 'UpdateOptions');
  }

  async #patch(call: ScaleCall): Promise<void> {
    const { resource, key, paths } = call;
    const patch = await readPatch(call.context, this.#bodies, patchTypes);
    for (let tries = 1; ; tries += 1) {
      const entry = await this.#registry.get(resource, key);
      const scale = scaleOf(paths, decodeObject(entry.bytes));
      const patched =
        patch.type === 'json' ? applyJsonPatch(scale, patch.operations) : applyMergePatch(scale, patch.patch);
      const request = readScale(resource.model, key.name, patched);
      const isCurrent = request.resourceVersion === scale.metadata.resourceVersion;
      try {
        return await this.#write(call, request, 'PatchOptions');
      } catch (error) {
        if (!isConflict(error) || !isCurrent || tries === maxTries) throw error;
      }
    }
  }

  async #write(call: ScaleCall, request: ScaleRequest, kind: 'UpdateOptions' | 'PatchOptions'): Promise<void> {
    const { context, resource, key, paths } = call;
    const options = readWriteOptions(context, kind, { subresource: 'scale' });
    const written = await this.#registry.patch(
      resource,
      key,
      { type: 'merge', patch: scalePatch(paths, request) },
      options,
    );
    send(call, written.bytes);
  }
}

function send({ context, format, paths }: ScaleCall, bytes: Buffer): void {
  sendBytes(context, Buffer.from(JSON.stringify(scaleOf(paths, decodeObject(bytes)))), format);
}
