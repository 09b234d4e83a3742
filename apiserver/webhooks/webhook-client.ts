import type { Clock } from '@homeostat/controller-runtime/api';
import { isApiError } from '@homeostat/controller-runtime/api';
import { BodyCodec } from '../decode/body-codec.ts';
import { toError } from '../base/to-error.ts';
import { Slots } from './slots.ts';
import { UnusableAnswer, WebhookConnections } from './webhook-connections.ts';
import type { WebhookAnswer, WebhookRequest } from './webhook-connections.ts';
import type { WebhookPlace } from './webhook-places.ts';

/** The maximum number of calls at the same time. Further calls wait, and the wait counts as a part of their timeout. */
const maxInFlight = 1000;

/** A call of a webhook. */
export interface WebhookCall {
  readonly place: WebhookPlace;
  readonly timeoutMs: number;
  readonly body: string;
}

export interface WebhookClientParts {
  readonly clock: Clock;
}

/** Sends JSON to webhooks over HTTPS, and keeps the connections for further calls. It follows no redirects. */
export class WebhookClient {
  readonly #clock: Clock;
  readonly #slots = new Slots(maxInFlight);
  readonly #bodies: BodyCodec;
  readonly #connections = new WebhookConnections();
  readonly #calls = new Set<AbortController>();
  #isClosed = false;

  constructor({ clock }: WebhookClientParts) {
    this.#clock = clock;
    this.#bodies = new BodyCodec(clock);
  }

  /**
   * Returns the JSON of the response. @throws Error when no usable response arrives in time, with the wording of
   * kube-apiserver if kube-apiserver has a message for the reason
   */
  async post({ place, timeoutMs, body }: WebhookCall): Promise<unknown> {
    const request = this.#connections.requestTo(place, timeoutMs);
    const abort = new AbortController();
    this.#calls.add(abort);
    if (this.#isClosed) stop(abort);
    const timer = this.#clock.setTimeout(() => abort.abort(new Error('context deadline exceeded')), timeoutMs);
    try {
      const { signal } = abort;
      const answer = await this.#slots.run(signal, () => this.#connections.exchange(request, body, signal));
      return await this.#read(answer);
    } catch (error) {
      const cause = abort.signal.aborted ? toError(abort.signal.reason) : toError(error);
      if (cause instanceof UnusableAnswer) throw cause;
      throw new Error(`Post ${JSON.stringify(request.url.href)}: ${explain(cause, request)}`, { cause: error });
    } finally {
      this.#clock.clearTimeout(timer);
      this.#calls.delete(abort);
    }
  }

  /** Ends all calls and connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#calls.forEach(stop);
    this.#connections.close();
    await this.#bodies.close();
  }

  async #read({ status, location, bytes }: WebhookAnswer): Promise<unknown> {
    if (status >= 300 && status < 400)
      throw new UnusableAnswer(
        `the webhook redirects to ${JSON.stringify(clip(location))}, and redirects are not followed`,
      );
    if (status === 404) throw new UnusableAnswer('the server could not find the requested resource', status);
    if (status < 200 || status > 299) {
      const text = clip(bytes.toString('utf8').trim()) || 'unknown';
      throw new UnusableAnswer(
        `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
        status,
      );
    }
    try {
      return (await this.#bodies.decode(bytes, 'json'))();
    } catch (error) {
      if (!isApiError(error)) throw error;
      throw new UnusableAnswer(`the response cannot be read: ${error.message}`);
    }
  }
}

function stop(call: AbortController): void {
  call.abort(new Error('the server is shutting down'));
}

const maxTextLength = 256;

function clip(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'EOF',
  ENOTFOUND: 'no such host',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EPROTO: 'the webhook does not speak TLS',
  CERT_HAS_EXPIRED: 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls: failed to verify certificate: x509: certificate is not valid for this name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls: failed to verify certificate: x509: certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls: failed to verify certificate: x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls: failed to verify certificate: x509: certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls: failed to verify certificate: x509: certificate signed by unknown authority',
};

/** Returns the reason why a call failed, with the wording of kube-apiserver if kube-apiserver has a message for it. */
function explain(error: Error & { readonly code?: unknown }, { url: { host } }: WebhookRequest): string {
  const { code } = error;
  const known = typeof code === 'string' && Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  if (known === undefined) return error.message;
  if (known.startsWith('connect:')) return `dial tcp ${host}: ${known}`;
  if (known === 'no such host') return `dial tcp: lookup ${host}: ${known}`;
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `${known}: ${error.message}` : known;
}
