import type { Logger } from '@homeostat/controller-runtime/api';
import { toError } from '../base/to-error.ts';
import type { ReviewedWrite } from '../registry/writes/registry-parts.ts';
import { failedCall, readVerdict, refusalBy, reviewBody, reviewVersionOf } from './admission-review.ts';
import type { AdmissionRequest, AdmissionVerdict } from './admission-review.ts';
import type { WebhookClient } from './webhook-client.ts';
import { UnusableAnswer } from './webhook-connections.ts';
import type { ListedWebhook } from './webhook-list.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';
import type { WebhookPlaces } from './webhook-places.ts';

export interface WebhookCallerParts {
  readonly client: WebhookClient;
  readonly places: WebhookPlaces;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
}

/** One call of one webhook. */
export interface Question {
  readonly listed: ListedWebhook;
  readonly write: ReviewedWrite;
  readonly request: AdmissionRequest;
  /** True when the webhook is a mutating one. */
  readonly mayPatch: boolean;
}

/** Calls webhooks, and applies their failure policies. */
export class WebhookCaller {
  readonly #parts: WebhookCallerParts;

  constructor(parts: WebhookCallerParts) {
    this.#parts = parts;
  }

  /**
   * Calls the webhook, and returns its decision; undefined when the call failed and the webhook's policy ignores
   * failures.
   * @throws ApiError with which the webhook refuses the write; InternalError when the call failed and the policy does
   * not ignore failures
   */
  async ask(question: Question): Promise<AdmissionVerdict | undefined> {
    const { listed, write, mayPatch, request } = question;
    const { name, failurePolicy } = listed.webhook;
    const { metrics } = this.#parts;
    const call = metrics.begin({ name, mayPatch, operation: request.operation });
    const verdict = await this.#verdictOf(question).catch((error: unknown) => {
      metrics.failed(call, { isIgnored: failurePolicy === 'Ignore', status: statusOf(error) });
      return this.fail(listed, toError(error));
    });
    if (verdict === undefined) return undefined;
    metrics.answered(call, verdict);
    write.warnings.push(...verdict.warnings);
    for (const [key, value] of Object.entries(verdict.auditAnnotations))
      write.options.annotate?.(`${name}/${key}`, value);
    if (!verdict.isAllowed) throw refusalBy(name, verdict);
    return verdict;
  }

  /**
   * Handles a failed call. Returns undefined when the webhook's policy ignores failures. @throws ApiError InternalError
   * when the policy does not ignore failures
   */
  fail({ webhook, configuration }: ListedWebhook, cause: Error): undefined {
    const { name, failurePolicy } = webhook;
    const about = { webhook: name, configuration, err: cause };
    if (failurePolicy !== 'Ignore') {
      this.#parts.logger.warn(about, 'a webhook failed, and the write is refused');
      throw failedCall(name, cause);
    }
    this.#parts.logger.warn(about, 'a webhook failed, and the write continues, because the failurePolicy is Ignore');
    return undefined;
  }

  async #verdictOf({ listed, request, mayPatch }: Question): Promise<AdmissionVerdict> {
    const { webhook } = listed;
    const version = reviewVersionOf(webhook.admissionReviewVersions);
    const place = explained('could not get REST client', 500, () => this.#parts.places.find(webhook.clientConfig));
    const timeoutMs = webhook.timeoutSeconds * 1000;
    const body = reviewBody(request, version);
    const answer = await this.#parts.client.post({ place, timeoutMs, body }).catch((error: unknown) => {
      const status = error instanceof UnusableAnswer ? error.status : undefined;
      throw new FailedCall('failed to call webhook', error, status);
    });
    return explained('received invalid webhook response', unavailable, () =>
      readVerdict(answer, { uid: request.uid, version, mayPatch }),
    );
  }
}

/** The HTTP status in the metrics if a webhook sends no response, or an unusable response without an HTTP error. */
const unavailable = 503;

/** The reason why a call ended without a decision. */
class FailedCall extends Error {
  override readonly name = 'FailedCall';
  readonly status: number;

  constructor(what: string, error: unknown, status = unavailable) {
    const cause = toError(error);
    super(`${what}: ${cause.message}`, { cause });
    this.status = status;
  }
}

function explained<T>(what: string, status: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new FailedCall(what, error, status);
  }
}

function statusOf(error: unknown): number {
  return error instanceof FailedCall ? error.status : 0;
}
