import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received request; `path` includes the query. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A watch that a test writes line by line. */
export interface ScriptedStream {
  /** Resolves when the request has arrived, and the headers of the response have been sent. */
  readonly opened: Promise<ReceivedRequest>;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<unknown>;
  /** Writes a text unchanged; for an event, use {@link watchLine}. */
  write(text: string | Uint8Array): void;
  /** Ends the response normally. */
  end(): void;
  /** Breaks the connection. */
  cut(): void;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of the response: an object is sent as JSON, a text unchanged. */
  readonly body?: unknown;
}

type Script = (request: ReceivedRequest, response: ServerResponse) => void;

/**
 * A real HTTP server on a free port of the loopback address that sends the scripted responses, in order. A request
 * without a scripted response gets a 500.
 */
export class ScriptedServer {
  readonly requests: ReceivedRequest[] = [];
  readonly #scripts: Script[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async start(): Promise<ScriptedServer> {
    const scripted = new ScriptedServer();
    scripted.#server.listen(0, '127.0.0.1');
    await once(scripted.#server, 'listening');
    return scripted;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Scripts the response to the next request that has no scripted response yet. */
  answer({ status = 200, headers = {}, body = '' }: ScriptedAnswer): void {
    this.#scripts.push((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  /** Leaves the next request without a response. Resolves when the connection of the request is closed. */
  stall(): Promise<unknown> {
    return new Promise((resolve) => {
      this.#scripts.push((_request, response) => response.on('close', resolve));
    });
  }

  /** Responds to the next request with a stream, and returns that stream. */
  stream(): ScriptedStream {
    let response: ServerResponse | undefined;
    let close: (value?: unknown) => void;
    const closed = new Promise((resolve) => (close = resolve));
    const opened = new Promise<ReceivedRequest>((resolve) => {
      this.#scripts.push((request, opening) => {
        response = opening;
        opening.on('close', close);
        opening.writeHead(200, { 'content-type': 'application/json' });
        opening.flushHeaders();
        resolve(request);
      });
    });
    return {
      opened,
      closed,
      write: (text) => void response?.write(text),
      end: () => void response?.end(),
      cut: () => void response?.destroy(),
    };
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
    this.requests.push(received);
    const script = this.#scripts.shift();
    if (script === undefined) response.writeHead(500).end(`no response is scripted for ${method} ${path}`);
    else script(received, response);
  }
}

/** Returns one line of a watch with an event. */
export function watchLine(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}
