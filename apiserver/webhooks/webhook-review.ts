import {
  applyJsonPatch,
  ApiError,
  deepEqual,
  isJsonObject,
  metadataShapeErrors,
} from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Authorizer } from '../authorization/authorizer.ts';
import { toError } from '../base/to-error.ts';
import { CostMeter } from '../cel/values/cost-meter.ts';
import { copyAsJsonObject } from '../decode/json-copy.ts';
import { objectLimits } from '../limits/body-limits.ts';
import { matchedVersion } from '../matching/match-rules.ts';
import type { NamespaceLabels } from '../matching/namespace-labels.ts';
import { PendingConversion } from '../registry/kinds/pending-conversion.ts';
import type { ReviewedWrite, WriteReview } from '../registry/writes/registry-parts.ts';
import { authorizerValues } from './review-asker.ts';
import { convertedTo, inVersionOf, pathOf, requestOf, storedObject, withShown } from './review-subject.ts';
import type { Question, WebhookCaller } from './webhook-caller.ts';
import type { ListedWebhook, WebhookList } from './webhook-list.ts';

export interface WebhookReviewParts {
  readonly list: WebhookList;
  readonly caller: WebhookCaller;
  readonly authorizer: Authorizer;
  readonly namespaces: NamespaceLabels;
  readonly uuid: () => string;
}

/** A webhook that applies to a write, and the version in which it receives the object. */
interface Matched {
  readonly listed: ListedWebhook;
  readonly version: string;
}

/** The maximum cost of the conditions that are evaluated in one turn of the event loop. This cost takes about 30 ms. */
const maxConditionCost = 1_000_000;

/** Calls the configured webhooks for writes, with the same rules as kube-apiserver. */
export class WebhookReview implements Omit<WriteReview, 'isConfigured'> {
  readonly covers: WriteReview['covers'];
  readonly #parts: WebhookReviewParts;

  constructor(parts: WebhookReviewParts) {
    this.#parts = parts;
    this.covers = parts.list.covers;
  }

  /**
   * Calls the mutating webhooks one after the other. After that, it calls a webhook with the reinvocationPolicy
   * `IfNeeded` once more if a webhook that was called later has changed the object. Returns the changed object.
   */
  async change(object: ApiObject, write: ReviewedWrite): Promise<ApiObject> {
    const listed = this.#parts.list.mutating();
    if (listed.length === 0) return object;
    const round = { write, again: new Set<ListedWebhook>() };
    const first = await this.#changeOnce(object, listed, round);
    if (round.again.size === 0) return first;
    return this.#changeOnce(first, [...round.again].sort(inOrderOf(listed)), { write, again: new Set() });
  }

  /** Calls all validating webhooks at the same time. */
  async check(object: ApiObject | undefined, write: ReviewedWrite): Promise<void> {
    const questions: Question[] = [];
    const meter = new CostMeter(maxConditionCost);
    for (const listed of this.#parts.list.validating()) {
      const question = this.#questionFor(listed, { object, write, mayPatch: false, meter });
      if (question !== undefined) questions.push(question);
    }
    const asked = await Promise.allSettled(questions.map(async (question) => this.#parts.caller.ask(question)));
    const refusal = asked.find((each) => each.status === 'rejected');
    if (refusal !== undefined) throw refusal.reason;
  }

  /**
   * Calls each webhook once. When a webhook changes the object, adds to `again` the webhooks with the
   * reinvocationPolicy `IfNeeded` that were called before it.
   */
  async #changeOnce(object: ApiObject, listed: readonly ListedWebhook[], { write, again }: Round): Promise<ApiObject> {
    const called: ListedWebhook[] = [];
    let current = object;
    for (const each of listed) {
      const matched = this.#match(each, current, write);
      if (matched === undefined) continue;
      const next = await this.#changeBy(matched, current, write);
      if (next !== current) for (const earlier of called) again.add(earlier);
      if (each.webhook.reinvocationPolicy === 'IfNeeded') called.push(each);
      current = next;
    }
    return current;
  }

  /** Calls a mutating webhook, and returns the changed object, or the same object when the webhook changes nothing. */
  async #changeBy(matched: Matched, object: ApiObject, write: ReviewedWrite): Promise<ApiObject> {
    const { listed } = matched;
    const meter = new CostMeter(maxConditionCost);
    const asked = isDeletion(write) ? undefined : object;
    const question = this.#ask(matched, { object: asked, write, mayPatch: true, meter });
    const verdict = question === undefined ? undefined : await this.#parts.caller.ask(question);
    const patch = verdict?.patch;
    if (question === undefined || patch === undefined || (Array.isArray(patch) && patch.length === 0)) return object;
    const { name } = listed.webhook;
    const shown = question.request.object;
    if (shown === null)
      throw internal(
        `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
      );
    const target = inVersionOf(write.resource, matched.version);
    const before = convertedTo(object, write.resource, target);
    const next = patchedObject(name, before, { patch, shown, write });
    if (deepEqual(next, before)) return object;
    target.rules.schema.applyDefaults(next);
    target.rules.schema.prune(next);
    return convertedTo(next, target, write.resource);
  }

  #questionFor(listed: ListedWebhook, asked: Asked): Question | undefined {
    const matched = this.#match(listed, asked.object, asked.write);
    return matched === undefined ? undefined : this.#ask(matched, asked);
  }

  #match(listed: ListedWebhook, object: ApiObject | undefined, write: ReviewedWrite): Matched | undefined {
    const path = pathOf(write);
    const { resource } = write;
    const served = resource.storage.served().map(({ model }) => model.version);
    const version = matchedVersion(listed.webhook, path, served);
    if (version === undefined) return undefined;
    const written = { object: isDeletion(write) ? undefined : object, oldObject: storedObject(write, version) };
    const { namespaces } = this.#parts;
    return listed.selectors.match(written, () => namespaces.of(resource, written)) ? { listed, version } : undefined;
  }

  /**
   * Prepares the call of a webhook. Returns undefined when the webhook must not be called: either its conditions
   * exclude the write, or the preparation fails and the webhook's policy ignores failures.
   */
  #ask({ listed, version }: Matched, { object, write, mayPatch, meter }: Asked): Question | undefined {
    const { uuid, caller } = this.#parts;
    try {
      const target = inVersionOf(write.resource, version);
      const shown = object === undefined ? undefined : convertedTo(object, write.resource, target);
      const oldObject = storedObject(write, version);
      const request = requestOf({ write, version, object: shown, oldObject, uid: uuid() });
      // When the evaluation of a condition fails, the failure policy of the webhook decides between two results: the
      // server refuses the write, or continues without a call of the webhook.
      if (!listed.conditions.isEmpty) {
        const authorizers = authorizerValues(this.#parts.authorizer, write, request);
        if (!listed.conditions.match(request, authorizers, meter)) return undefined;
      }
      return { listed, write, request, mayPatch };
    } catch (error) {
      if (error instanceof PendingConversion) throw error;
      return caller.fail(listed, toError(error));
    }
  }
}

interface Round {
  readonly write: ReviewedWrite;
  /** The set to which `#changeOnce` adds the webhooks that must be called once more. */
  readonly again: Set<ListedWebhook>;
}

interface Asked {
  /** The object in the version of the write, before its conversion for the webhook. */
  readonly object: ApiObject | undefined;
  readonly write: ReviewedWrite;
  readonly mayPatch: boolean;
  /** Counts the cost of the conditions of all validating webhooks of a write together, or of one mutating webhook. */
  readonly meter: CostMeter;
}

function isDeletion({ verb }: ReviewedWrite): boolean {
  return verb === 'delete';
}

function inOrderOf(listed: readonly ListedWebhook[]): (a: ListedWebhook, b: ListedWebhook) => number {
  return (a, b) => listed.indexOf(a) - listed.indexOf(b);
}

/** The fields of metadata that a webhook must not change. */
const fixedFields = ['name', 'namespace', 'uid'] as const;

interface Patched {
  readonly patch: unknown;
  /** The object as the webhook received it, which may be only a part (a Scale). */
  readonly shown: object;
  readonly write: ReviewedWrite;
}

/**
 * Applies the patch of a webhook. @throws ApiError InternalError when the patch cannot be applied, or changes the
 * object's apiVersion, kind, name, namespace or uid
 */
function patchedObject(name: string, before: ApiObject, { patch, shown, write }: Patched): ApiObject {
  try {
    const patched = withShown(before, applyJsonPatch(structuredClone(shown), patch), write);
    const next = isJsonObject(patched) ? copyAsJsonObject(patched, objectLimits) : undefined;
    if (!isReviewed(next)) throw new Error(`the result is no object${wrongMetadata(next)}`);
    const changed = [
      ...(['apiVersion', 'kind'] as const).filter((field) => next[field] !== before[field]),
      ...fixedFields
        .filter((field) => next.metadata[field] !== before.metadata[field])
        .map((field) => `metadata.${field}`),
    ];
    if (changed.length > 0) throw new Error(`the patch must not change ${changed.join(', ')}`);
    return next;
  } catch (error) {
    const cause = toError(error);
    throw internal(`admission webhook ${JSON.stringify(name)}: the patch cannot be applied: ${cause.message}`, cause);
  }
}

function isReviewed(value: unknown): value is ApiObject {
  return isJsonObject(value) && isJsonObject(value['metadata']) && metadataShapeErrors(value['metadata']).length === 0;
}

/**
 * Returns the end of an error message, about the first field of the metadata with a wrong type; empty when there is
 * none.
 */
function wrongMetadata(value: unknown): string {
  const [first] = isJsonObject(value) ? metadataShapeErrors(value['metadata']) : [];
  return first === undefined ? '' : `: ${first.field}: ${first.message}`;
}

function internal(message: string, cause?: Error): ApiError {
  return new ApiError('InternalError', `Internal error occurred: ${message}`, { cause });
}
