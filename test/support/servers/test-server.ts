import { Agent, METHODS, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import { letter, machine, Person, personIndexes } from '../models/models.ts';
import { OwnedDatabase } from '../databases/owned-database.ts';
import { WatchReader } from '../network/watch-reader.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /**
   * The parsed body if the Content-Type is JSON; otherwise undefined. The body is parsed only when a test reads this
   * property: the body of a watch has a JSON document on each line, and parsing it as one document would throw.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response; tests read every part of it
  readonly body: any;
}

export interface RequestOptions {
  /** Bytes and strings are sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The Content-Type. Default: `application/json`, and `application/merge-patch+json` for PATCH. With '', the request
   * has no Content-Type.
   */
  readonly type?: string;
}

/**
 * The environment variable with the number of workers of each test server. The workers share one database, and each
 * request goes to the next worker in turn.
 */
export const workersVariable = 'HOMEOSTAT_TEST_WORKERS';

/** A separate API server for a test file, with a new database and a free port. */
export class TestServer {
  /** The API server; with several workers, that of the first worker. */
  readonly api: ApiServer;
  /** The revision of the database at the start of the server. The next write gets the next revision. */
  readonly startRevision: number;
  readonly #workers: readonly ApiServer[];
  readonly #database: OwnedDatabase | undefined;
  readonly #watches = new Set<WatchReader>();
  /** Keeps the connections of {@link request}: a new connection takes as much CPU time as a request. */
  readonly #agent: Agent;
  #requests = 0;

  private constructor(workers: readonly [ApiServer, ...ApiServer[]], startRevision: number, database?: OwnedDatabase) {
    [this.api] = workers;
    this.startRevision = startRevision;
    this.#workers = workers;
    this.#database = database;
    this.#agent = this.api.ca === undefined ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true });
  }

  /**
   * Starts a server with Person, Letter and Machine, ready for requests. The database has the namespace `default` and
   * the default roles.
   */
  static async start(options: ApiServerOptions = {}): Promise<TestServer> {
    const count = options.database === undefined ? Number(process.env[workersVariable] ?? 1) : 1;
    const database = count > 1 ? await OwnedDatabase.create() : undefined;
    const first = await startWithModels({ database: database?.url ?? 'memory:', ...options });
    const others: ApiServer[] = [];
    while (database !== undefined && others.length < count - 1)
      others.push(await startWithModels({ ...options, database: database.url }));
    const { metadata } = await first.client.list(machine);
    return new TestServer([first, ...others], Number(metadata.resourceVersion), database);
  }

  /** Closes the watches that the tests left open, and stops the server. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    await Promise.all(this.#workers.map(async (worker) => worker.stop()));
    this.#agent.destroy();
    await this.#database?.drop();
  }

  /** The port of the server; with several workers, each read returns the port of the next worker in turn. */
  get port(): number {
    this.#requests += 1;
    const { url } = this.#workers[this.#requests % this.#workers.length] ?? this.api;
    return Number(new URL(url).port);
  }

  /**
   * Sends a request with an unchanged path, on an idle connection of an earlier request, or on a new one. A request
   * with a method that HTTP does not have gets a new connection, because the server closes a connection after malformed
   * HTTP.
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const body = bytesOf(options.body);
    const type = options.type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
    const headers = {
      ...(body === undefined || type === '' ? {} : { 'content-type': type }),
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
      ...options.headers,
    };
    const { ca } = this.api;
    const send = ca === undefined ? httpRequest : httpsRequest;
    const agent = METHODS.includes(method) && this.#agent;
    const call = send({ host: '127.0.0.1', port: this.port, ca, method, path, headers, agent });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.on('response', resolve);
      call.on('error', reject);
      call.end(body);
    });
    const answer = await answerOf(response);
    // The rest of a refused body is not sent, because a server that stops would wait for it.
    if (!call.writableFinished) call.destroy();
    return answer;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.request('GET', path, { headers });
  }

  post(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('POST', path, { ...options, body });
  }

  put(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('PUT', path, { ...options, body });
  }

  /** Sends a patch. It is a merge patch unless `type` is given. */
  patch(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('PATCH', path, { ...options, body });
  }

  delete(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.request('DELETE', path, options);
  }

  /** Creates an object, and returns it; throws when the server refuses it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  async create(path: string, body: unknown): Promise<any> {
    const answer = await this.post(path, body);
    if (answer.status !== 201) throw new Error(`not created: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Returns the present revision of a list at a path. */
  async revision(path: string): Promise<string> {
    const { body } = await this.get(`${path}?size=1`);
    return body.metadata.resourceVersion as string;
  }

  /** Opens a watch, and resolves when its headers have arrived. `path` includes the whole query. */
  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<WatchReader> {
    const watch = await WatchReader.open({ port: this.port, ca: this.api.ca }, path, headers);
    this.#watches.add(watch);
    return watch;
  }

  /** Sends bytes unchanged, and returns everything that the server sends until it closes the connection. */
  raw(bytes: string | Uint8Array): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = this.connect();
      socket.write(bytes);
      textOf(socket).then(resolve, reject);
    });
  }

  /** Opens a connection without sending a request. */
  connect(): Socket {
    const target = { host: '127.0.0.1', port: this.port };
    const { ca } = this.api;
    return ca === undefined ? connect(target) : connectTls({ ...target, ca });
  }
}

async function startWithModels(options: ApiServerOptions): Promise<ApiServer> {
  const api = await startApiServer({ port: 0, ...options });
  api.schemeManager.register(Person, personIndexes);
  api.schemeManager.register(letter);
  api.schemeManager.register(machine);
  await api.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
  await api.whenReady(letter);
  await api.whenReady(machine);
  return api;
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as string);
  return Buffer.from(JSON.stringify(body));
}

export async function answerOf(response: IncomingMessage): Promise<Answer> {
  const text = await textOf(response);
  const { statusCode: status = 0, headers } = response;
  const isJson = /^application\/(problem\+)?json(;|$)/.test(headers['content-type'] ?? '') && text !== '';
  let body: unknown;
  return {
    status,
    headers,
    text,
    get body() {
      if (isJson) body ??= JSON.parse(text);
      return body;
    },
  };
}
