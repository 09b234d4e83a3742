import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Child } from '../processes/child.ts';

export interface Certificate {
  /** The certificate and its key, in PEM. */
  readonly pem: string;
  readonly ca: string;
}

/** Returns a certificate: starts a server, which creates its certificate in a folder, and stops the server again. */
export async function certificateIn(directory: string): Promise<Certificate> {
  await using server = new Child('api-server');
  await server.call('startWith', { database: 'memory:', port: 0, tls: { directory } });
  await server.call('stop');
  const [pem, ca] = await Promise.all(
    ['server.pem', 'ca.crt'].map(async (name) => readFile(join(directory, name), 'utf8')),
  );
  return { pem: pem ?? '', ca: ca ?? '' };
}

/** The field `request` of the AdmissionReview or ConversionReview that the server sends to a webhook. */
export interface Reviewed {
  readonly uid: string;
  readonly objects?: readonly object[];
  readonly desiredAPIVersion?: string;
}

/** A webhook server in this process. */
export class WebhookServer {
  readonly ca: string;
  readonly url: string;
  lastBody = '{}';
  calls = 0;
  readonly #server: Server;
  readonly #respond: (request: Reviewed) => object;

  private constructor(server: Server, ca: string, respond: (request: Reviewed) => object) {
    this.#server = server;
    this.#respond = respond;
    this.ca = ca;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.url = `https://127.0.0.1:${port.toString()}/`;
    server.on('request', (asked, response) => void this.#answer(asked, response));
  }

  /** Starts the webhook. `respond` returns the response to a review, without the uid. */
  static async start({ pem, ca }: Certificate, respond: (request: Reviewed) => object): Promise<WebhookServer> {
    const server = createServer({ key: pem, cert: pem });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookServer(server, ca, respond);
  }

  /** Returns the `clientConfig` for this webhook, for definitions and webhook configurations. */
  get clientConfig(): object {
    return { url: this.url, caBundle: Buffer.from(this.ca).toString('base64') };
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    this.calls += 1;
    this.lastBody = await text(asked);
    const { request, ...type } = JSON.parse(this.lastBody) as { readonly request: Reviewed };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...type, response: { uid: request.uid, ...this.#respond(request) } }));
  }
}
