import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** The request in a review, as the webhook received it. */
// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
export type Asked = any;

/**
 * Responds to a review: it returns an object, which becomes the `response` of the review, or sends the response itself.
 */
export type Webhook = (request: Asked, response: ServerResponse) => object | undefined | Promise<object | undefined>;

/** An HTTPS server with the webhooks of a test, by path. */
export class WebhookServer {
  readonly #server: Server;
  readonly #webhooks = new Map<string, Webhook>();
  /** The reviews received so far, each with its path. */
  readonly asked: { readonly path: string; readonly request: Asked }[] = [];
  /** The client ports of the connections. A connection that is used several times counts once. */
  readonly connections = new Set<number>();

  private constructor(pem: string) {
    this.#server = createServer({ key: pem, cert: pem }, (request, response) => void this.#handle(request, response));
    this.#server.on('secureConnection', (socket) => this.connections.add(socket.remotePort ?? 0));
  }

  /** Starts a server. `pem` has a key and a certificate. */
  static async start(pem: string): Promise<WebhookServer> {
    const server = new WebhookServer(pem);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get origin(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Sets the webhook of a path, such as `/validate`. */
  on(path: string, webhook: Webhook): void {
    this.#webhooks.set(path, webhook);
  }

  /** Returns the requests that arrived at a path. */
  at(path: string): readonly Asked[] {
    return this.asked.filter((each) => each.path === path).map(({ request }) => request);
  }

  reset(): void {
    this.asked.length = 0;
    this.#webhooks.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (message.url ?? '').split('?');
    const review = JSON.parse(await text(message)) as { readonly request: Asked; readonly apiVersion: string };
    const { request, ...type } = review;
    this.asked.push({ path, request });
    const answer = await this.#webhooks.get(path)?.(request, response);
    if (answer === undefined) {
      if (!this.#webhooks.has(path)) response.writeHead(404).end();
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...type, response: { uid: request.uid, ...answer } }));
  }
}

/** Returns a response that changes the object by a JSON patch. */
export function patched(...operations: readonly object[]): object {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64');
  return { allowed: true, patchType: 'JSONPatch', patch };
}

interface WebhookParts {
  readonly name: string;
  readonly clientConfig: object;
  readonly [field: string]: unknown;
}

/**
 * Returns a configuration of webhooks for all writes of people.example.com. The fields of each webhook replace the
 * defaults.
 */
export function webhookConfiguration(
  kind: 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration',
  name: string,
  webhooks: readonly WebhookParts[],
): object {
  const rules = [{ operations: ['*'], apiGroups: ['people.example.com'], apiVersions: ['*'], resources: ['*/*'] }];
  const common = { rules, sideEffects: 'None', admissionReviewVersions: ['v1'] };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    webhooks: webhooks.map((each) => ({ ...common, ...each })),
  };
}
