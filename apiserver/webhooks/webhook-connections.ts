import { LruCache } from '@homeostat/controller-runtime/api';
import { Agent, request as httpsRequest } from 'node:https';
import { checkServerIdentity } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { toError } from '../base/to-error.ts';
import { checkLiteralHost, guardedLookup } from './address-guard.ts';
import type { WebhookPlace } from './webhook-places.ts';

/**
 * The maximum number of sets of connections that are kept open. There is one set for each combination of certificate
 * authority, server name and origin.
 */
const maxAgents = 100;

/** The maximum number of connections to one origin with the same certificate authority and server name. */
const maxConnections = 100;

/** The time after which an idle connection is closed, the same as in kube-apiserver. */
const idleMs = 90_000;

/** The maximum size of a response. A patch in base64 that contains an object of the maximum size fits into it. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** The common parts of all requests to a webhook. */
export interface WebhookRequest {
  readonly place: WebhookPlace;
  readonly timeoutMs: number;
  /** The URL, with the timeout as a query parameter. */
  readonly url: URL;
  readonly host: string;
  readonly path: string;
  readonly headers: readonly string[];
  /** The key of the set of connections that the request uses. */
  readonly agent: string;
}

/** The response of a webhook. */
export interface WebhookAnswer {
  readonly status: number;
  readonly location: string;
  readonly bytes: Buffer;
}

/** An error for a response that cannot be used. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
  /** The status of an HTTP error; undefined for any other response. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/**
 * Keeps the connections to one origin. All requests to this origin share them. All connections are in one pool with a
 * fixed name, because composing the name of a pool for each request, as Node does, would take 20 µs.
 */
class OriginAgent extends Agent {
  override getName(): string {
    return 'origin';
  }
}

/** Sends requests to webhooks, over connections that stay open for later requests. */
export class WebhookConnections {
  readonly #agents = new LruCache<string, Agent>({ maxEntries: maxAgents, onRemove: (agent) => agent.destroy() });
  /** The common parts of the requests to each webhook, by the webhook's address. */
  readonly #requests = new WeakMap<WebhookPlace, WebhookRequest>();

  /**
   * Returns the parts that all requests to a webhook's address have in common: URL, headers and timeout. They are made
   * again when the webhook's configuration or `timeoutMs` changes.
   */
  requestTo(place: WebhookPlace, timeoutMs: number): WebhookRequest {
    const known = this.#requests.get(place);
    if (known?.timeoutMs === timeoutMs) return known;
    const made = requestTo(place, timeoutMs);
    this.#requests.set(place, made);
    return made;
  }

  /** Sends a body, and returns the response. */
  exchange(request: WebhookRequest, body: string, signal: AbortSignal): Promise<WebhookAnswer> {
    return this.#exchange({ request, body, signal, isAgain: false });
  }

  close(): void {
    this.#agents.clear();
  }

  #exchange(exchange: Exchange): Promise<WebhookAnswer> {
    const { request, body, signal, isAgain } = exchange;
    return new Promise((resolve, reject) => {
      const { host, path, url } = request;
      const headers = [...request.headers, 'content-length', Buffer.byteLength(body).toString()];
      const agent = this.#agentOf(request);
      const sent = httpsRequest({ host, port: url.port, path, method: 'POST', headers, setHost: false, agent });
      // The signal is not passed as an option of the request: with the option, the request would take four times as
      // long.
      const stop = (): void => {
        const reason = toError(signal.reason);
        sent.destroy(reason);
        // Rejects immediately, because a request that waits for a connection emits its error only when it gets the
        // connection.
        reject(reason);
      };
      signal.addEventListener('abort', stop, { once: true });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // True when the webhook closed a kept connection at the moment when this request used it. The request is then
        // sent once more.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted;
        if (isStale && !isAgain) this.#exchange({ ...exchange, isAgain: true }).then(resolve, reject);
        else reject(error);
      });
      sent.on('response', (response) => collect(response, resolve, reject));
      sent.end(body);
    });
  }

  #agentOf({ agent: key, place, host }: WebhookRequest): Agent {
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    checkLiteralHost(host);
    const { ca, serverName } = place;
    const agent = new OriginAgent({
      keepAlive: true,
      maxSockets: maxConnections,
      maxFreeSockets: maxConnections,
      timeout: idleMs,
      lookup: guardedLookup,
      ...(ca === undefined ? {} : { ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
      checkServerIdentity: (name, certificate) => {
        const wrong = checkServerIdentity(serverName ?? name, certificate);
        // If the webhook is a service, --service-map gives its address. A certificate for the host of this address is
        // valid as well.
        return wrong === undefined || serverName === undefined ? wrong : checkServerIdentity(host, certificate);
      },
    });
    this.#agents.set(key, agent);
    return agent;
  }
}

interface Exchange {
  readonly request: WebhookRequest;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly isAgain: boolean;
}

function requestTo(place: WebhookPlace, timeoutMs: number): WebhookRequest {
  const url = new URL(place.url);
  url.searchParams.set('timeout', `${Math.ceil(timeoutMs / 1000)}s`);
  const type = 'application/json';
  return {
    place,
    timeoutMs,
    url,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    path: url.pathname + url.search,
    headers: ['host', url.host, 'content-type', type, 'accept', type, 'user-agent', 'homeostat-admission'],
    agent: JSON.stringify([url.host, place.serverName, place.ca]),
  };
}

function collect(
  response: IncomingMessage,
  resolve: (answer: WebhookAnswer) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxAnswerBytes)
      response.destroy(new UnusableAnswer(`the response is larger than ${maxAnswerBytes} bytes`));
    else chunks.push(chunk);
  });
  response.on('error', reject);
  response.on('end', () => {
    const { statusCode = 0, headers } = response;
    resolve({ status: statusCode, location: headers.location ?? '', bytes: Buffer.concat(chunks) });
  });
}
