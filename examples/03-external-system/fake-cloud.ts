import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { CloudMachine } from './cloud.ts';

const sizes = ['small', 'large'];
/** The time that a machine takes to start, and to stop. */
const workMs = 5000;
const maxBodyLength = 1000;

interface Kept {
  readonly size: string;
  readonly address: string;
  readonly isStopping: boolean;
  /** The time, in ms, from which a starting machine runs, or a stopping machine is gone. */
  readonly doneMs: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface FakeCloudOptions {
  /** The port to listen on. Default: a free port. */
  readonly port?: number;
  readonly now: () => number;
}

/** A cloud that has machines in memory only. */
export class FakeCloud {
  /**
   * `out of order`: responds with 503. `silent`: does not respond. `hangs up on writes`: carries out a write, but
   * closes the connection without a response.
   */
  trouble: 'none' | 'out of order' | 'silent' | 'hangs up on writes' = 'none';
  /** `<method> <path>` of each request. */
  readonly requests: string[] = [];
  readonly #machines = new Map<string, Kept>();
  readonly #now: () => number;
  readonly #server: Server;
  #made = 0;

  private constructor(now: () => number) {
    this.#now = now;
    this.#server = createServer((request, response) => {
      // A client that closes the connection early gets no response.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start({ port = 0, now }: FakeCloudOptions): Promise<FakeCloud> {
    const cloud = new FakeCloud(now);
    cloud.#server.listen(port, '127.0.0.1');
    await once(cloud.#server, 'listening');
    return cloud;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the cloud has been stopped');
    return `http://127.0.0.1:${address.port}`;
  }

  get machines(): readonly CloudMachine[] {
    return [...this.#machines.keys()].flatMap((id) => this.#find(id) ?? []);
  }

  /** Loses all machines. */
  lose(): void {
    this.#machines.clear();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    this.requests.push(`${method} ${url}`);
    if (this.trouble === 'silent') return;
    const body = await readBody(request);
    const answer =
      this.trouble === 'out of order' ? { status: 503, body: 'out of order' } : this.#do(method, url, body);
    if (this.trouble === 'hangs up on writes' && method !== 'GET') response.destroy();
    else response.writeHead(answer.status).end(`${JSON.stringify(answer.body)}\n`);
  }

  #do(method: string, path: string, body: string): Answer {
    if (method === 'GET' && path === '/machines') return { status: 200, body: this.machines };
    const id = /^\/machines\/([-0-9a-f]{1,36})$/.exec(path)?.[1];
    if (id === undefined) return { status: 404, body: 'no such path' };
    if (method === 'PUT') return this.#put(id, body);
    if (method === 'DELETE') this.#stopMachine(id);
    const machine = this.#find(id);
    return machine === undefined ? { status: 404, body: 'no such machine' } : { status: 200, body: machine };
  }

  #put(id: string, body: string): Answer {
    const size = sizes.find((each) => body === JSON.stringify({ size: each }));
    if (size === undefined) return { status: 422, body: `size must be one of ${sizes.join(', ')}` };
    const address = this.#machines.get(id)?.address ?? `10.0.0.${(this.#made += 1)}`;
    this.#machines.set(id, { size, address, isStopping: false, doneMs: this.#now() + workMs });
    return { status: 200, body: this.#find(id) };
  }

  #stopMachine(id: string): void {
    const kept = this.#machines.get(id);
    if (kept === undefined || kept.isStopping) return;
    this.#machines.set(id, { ...kept, isStopping: true, doneMs: this.#now() + workMs });
  }

  #find(id: string): CloudMachine | undefined {
    const kept = this.#machines.get(id);
    if (kept === undefined) return undefined;
    const { size, address, isStopping, doneMs } = kept;
    const isDone = this.#now() >= doneMs;
    if (isStopping && isDone) this.#machines.delete(id);
    if (isStopping) return isDone ? undefined : { id, size, state: 'stopping', address };
    return { id, size, state: isDone ? 'running' : 'starting', address };
  }
}

/**
 * Reads the body of a request. Drops all further chunks once the body has the maximum length. A PUT with such a body is
 * refused later, because the body is not one of the expected texts.
 */
async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) {
    if (body.length < maxBodyLength) body += String(chunk);
  }
  return body;
}
