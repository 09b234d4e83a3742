import { Agent, request as httpsRequest } from 'node:https';
import { checkServerIdentity } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { isApiError } from '@homeostat/controller-runtime/api';
import type { Clock } from '@homeostat/controller-runtime/api';
import { LRUCache } from 'lru-cache';
import { BodyCodec } from '../decode/body-codec.ts';
import { toError } from '../base/to-error.ts';
import { checkLiteralHost, guardedLookup } from './address-guard.ts';
import { Slots } from './slots.ts';
import type { WebhookPlace } from './webhook-places.ts';

/** Calls at the same time; further ones wait, and the time counts. */
const maxInFlight = 1000;

/** Sets of connections that are kept, one for each authority and server name. */
const maxAgents = 100;

/** Connections to one webhook. */
const maxConnections = 100;

/** The largest response: that of the largest object, as base64 in a patch. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** A call of a webhook. */
export interface WebhookCall {
  readonly place: WebhookPlace;
  readonly timeoutMs: number;
  readonly body: string;
}

export interface WebhookClientOptions {
  readonly clock: Clock;
}

/** Sends JSON to webhooks over HTTPS, on connections that are kept. Follows no redirects. */
export class WebhookClient {
  readonly #clock: Clock;
  readonly #slots = new Slots(maxInFlight);
  readonly #bodies: BodyCodec;
  readonly #agents = new LRUCache<string, Agent>({ max: maxAgents, dispose: (agent) => agent.destroy() });
  readonly #closing = new AbortController();

  constructor({ clock }: WebhookClientOptions) {
    this.#clock = clock;
    this.#bodies = new BodyCodec(clock);
  }

  /** Returns the JSON of the response. @throws Error, for people, in the words of kube-apiserver, when there is none in time. */
  async post({ place, timeoutMs, body }: WebhookCall): Promise<unknown> {
    const url = new URL(place.url);
    url.searchParams.set('timeout', `${Math.ceil(timeoutMs / 1000)}s`);
    const target = `Post ${JSON.stringify(url.href)}`;
    const abort = new AbortController();
    const stop = (): void => abort.abort(new Error('the server is shutting down'));
    if (this.#closing.signal.aborted) stop();
    this.#closing.signal.addEventListener('abort', stop, { once: true });
    const timer = this.#clock.setTimeout(() => abort.abort(new Error('context deadline exceeded')), timeoutMs);
    try {
      checkLiteralHost(url.hostname);
      const { signal } = abort;
      const answer = await this.#slots.run(signal, () => this.#exchange({ url, place, body, signal }));
      return await this.#read(answer);
    } catch (error) {
      const cause = abort.signal.aborted ? toError(abort.signal.reason) : toError(error);
      if (cause instanceof UnusableAnswer) throw cause;
      throw new Error(`${target}: ${explain(cause, url)}`, { cause: error });
    } finally {
      this.#clock.clearTimeout(timer);
      this.#closing.signal.removeEventListener('abort', stop);
    }
  }

  /** Ends all calls and connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#agents.clear();
    await this.#bodies.close();
  }

  #exchange({ url, place, body, signal, isAgain = false }: Exchange): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'homeostat-admission',
      };
      const sent = httpsRequest(url, { method: 'POST', headers, agent: this.#agentOf(place), signal });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The webhook has closed a kept connection at the moment in which it was used.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted;
        if (isStale && !isAgain) this.#exchange({ url, place, body, signal, isAgain: true }).then(resolve, reject);
        else reject(error);
      });
      sent.on('response', (response) => {
        collect(response).then(resolve, reject);
      });
      sent.end(body);
    });
  }

  async #read({ status, location, bytes }: Answer): Promise<unknown> {
    if (status >= 300 && status < 400)
      throw new UnusableAnswer(
        `the webhook redirects to ${JSON.stringify(clip(location))}, and redirects are not followed`,
      );
    if (status === 404) throw new UnusableAnswer('the server could not find the requested resource');
    if (status < 200 || status > 299) {
      const text = clip(bytes.toString('utf8').trim()) || 'unknown';
      throw new UnusableAnswer(
        `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
      );
    }
    try {
      return (await this.#bodies.decode(bytes, 'json'))();
    } catch (error) {
      if (!isApiError(error)) throw error;
      throw new UnusableAnswer(`the response cannot be read: ${error.message}`);
    }
  }

  #agentOf({ url, serverName, ca }: WebhookPlace): Agent {
    const key = JSON.stringify([ca, serverName, url.hostname]);
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const agent = new Agent({
      keepAlive: true,
      maxSockets: maxConnections,
      maxFreeSockets: 10,
      lookup: guardedLookup,
      ...(ca === undefined ? {} : { ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
      checkServerIdentity: (host, certificate) => {
        const wrong = checkServerIdentity(serverName ?? host, certificate);
        // A mapped service may as well have a certificate for its address.
        return wrong === undefined || serverName === undefined ? wrong : checkServerIdentity(url.hostname, certificate);
      },
    });
    this.#agents.set(key, agent);
    return agent;
  }
}

interface Exchange {
  readonly url: URL;
  readonly place: WebhookPlace;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly isAgain?: boolean;
}

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly bytes: Buffer;
}

/** A response that has arrived and says nothing. */
class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxAnswerBytes) throw new UnusableAnswer(`the response is larger than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  const { statusCode = 0, headers } = response;
  return { status: statusCode, location: headers.location ?? '', bytes: Buffer.concat(chunks) };
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

/** Says why a call failed, in the words of kube-apiserver where it has some. */
function explain(error: Error & { readonly code?: unknown }, { host }: URL): string {
  const { code } = error;
  const known = typeof code === 'string' && Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  if (known === undefined) return error.message;
  if (known.startsWith('connect:')) return `dial tcp ${host}: ${known}`;
  if (known === 'no such host') return `dial tcp: lookup ${host}: ${known}`;
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `${known}: ${error.message}` : known;
}
