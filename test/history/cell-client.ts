import { Agent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { answerOf } from '../support/servers/test-server.ts';
import type { Answer } from '../support/servers/test-server.ts';
import { cell, cellsPath } from './cell-model.ts';
import type { Outcome, ObjectState, Request } from './history.ts';

/** The time limit for a response. It is longer than any fault lasts. */
const patienceMs = 5_000;

/** The response to a list. */
export interface ListAnswer {
  readonly revision: number;
  readonly states: ReadonlyMap<string, ObjectState>;
}

/** Sends requests over HTTP, and translates each response for the history. */
export class CellClient {
  readonly #agent = new Agent({ keepAlive: true });

  /**
   * Sends a request for an object of the kind Cell. Returns undefined when the request had no effect, for example
   * because no server listens; then no operation is recorded.
   */
  async perform(port: number, key: string, request: Request): Promise<Outcome | undefined> {
    const answer = await this.#send(port, ...messageOf(key, request));
    if (answer === 'lost') return { kind: 'unknown' };
    return answer === 'refused' ? undefined : meaningOf(answer, key);
  }

  /**
   * Lists all objects of the kind Cell, or only the one named `key`, in chunks of `limit` or completely. Returns
   * undefined if a request fails, for example because the continue token has expired before the next chunk.
   */
  async list(port: number, options: { key?: string; limit?: number } = {}): Promise<ListAnswer | undefined> {
    const { key, limit } = options;
    const states = new Map<string, ObjectState>();
    let token = '';
    for (;;) {
      const query = new URLSearchParams({
        ...(key === undefined ? {} : { fieldSelector: `metadata.name=${key}` }),
        ...(limit === undefined ? {} : { limit: String(limit) }),
        ...(token === '' ? {} : { continue: token }),
      });
      const answer = await this.#send(port, 'GET', `${cellsPath}?${query.toString()}`);
      if (answer === 'lost' || answer === 'refused' || answer.status !== 200) return undefined;
      const { items, metadata } = answer.body;
      for (const item of items) states.set(item.metadata.name, stateOf(item));
      token = metadata.continue ?? '';
      if (token === '') return { revision: Number(metadata.resourceVersion), states };
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * Returns the response; `refused` when no server listens, so that nothing was sent; `lost` when there is no response,
   * or only a part of it.
   */
  async #send(port: number, method: string, path: string, body?: object): Promise<Answer | 'refused' | 'lost'> {
    const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = data === undefined ? {} : { 'content-type': 'application/json', 'content-length': data.length };
    const signal = AbortSignal.timeout(patienceMs);
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const options = { host: '127.0.0.1', port, method, path, headers, agent: this.#agent, signal };
        const call = httpRequest(options, resolve);
        call.on('error', reject);
        call.end(data);
      });
      return await answerOf(response);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'lost';
    }
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
export function stateOf({ metadata, spec }: any): ObjectState {
  const { uid, resourceVersion, version } = metadata;
  return { uid, revision: Number(resourceVersion), version, value: spec.value };
}

function messageOf(key: string, request: Request): [method: string, path: string, body?: object] {
  switch (request.verb) {
    case 'create':
      return ['POST', cellsPath, cell(key, request.value)];
    case 'update':
    case 'touch': {
      const { uid, revision, version } = request.expect;
      const resourceVersion = revision === undefined ? undefined : String(revision);
      return ['PUT', `${cellsPath}/${key}`, cell(key, request.value, { uid, version, resourceVersion })];
    }
    case 'delete': {
      const { uid, revision } = request.expect;
      const resourceVersion = revision === undefined ? undefined : String(revision);
      return ['DELETE', `${cellsPath}/${key}`, { preconditions: { uid, resourceVersion } }];
    }
    case 'get':
      return ['GET', `${cellsPath}/${key}`];
  }
}

/**
 * Returns the meaning of a response; undefined when the request had no effect. Throws for a response that no request of
 * this client may get.
 */
function meaningOf({ status, body, text }: Answer, key: string): Outcome | undefined {
  if (status >= 500) return { kind: 'unknown' };
  // Too many requests: the server has not tried the write.
  if (status === 429) return undefined;
  if (status === 200 && body.kind === 'Status') return { kind: 'deleted', uid: body.details.uid };
  if (status === 200 || status === 201) return { kind: 'state', state: stateOf(body) };
  if (status === 409) return { kind: body.reason === 'AlreadyExists' ? 'exists' : 'conflict' };
  // A 404 that names the object means that the object does not exist. Any other 404 is from a server that has just
  // started and does not serve the kind yet, so the request had no effect.
  if (status === 404) return body.details?.name === key ? { kind: 'notFound' } : undefined;
  throw new Error(`unexpected answer ${status}: ${text}`);
}
