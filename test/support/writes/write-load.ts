import { eventually } from '@homeostat/controller-runtime/testing';
import { thingsPath } from '../models/restart-model.ts';
import type { Answer, TestServer } from '../servers/test-server.ts';

/**
 * The result of a write for its writer. `stored`: the server has acknowledged it. `refused`: the server has stored
 * nothing. `unknown`: the server may have stored it.
 */
export interface WriteAttempt {
  readonly name: string;
  readonly op: 'create' | 'update' | 'delete';
  /** The text of the object; '' for a deletion. */
  readonly text: string;
  readonly outcome: 'stored' | 'refused' | 'unknown';
  /** The response to a stored write. */
  readonly body: string;
  /** The revision of the stored object; undefined for a deletion. */
  readonly revision: number | undefined;
  /** The largest revision that any writer had received when this write was sent. */
  readonly sentAfter: number;
}

/**
 * Writers that write continuously. Each creates objects one after the other, changes each object twice on the basis of
 * the last response, and deletes every third object.
 */
export class WriteLoad {
  /** The writes in the order of their responses. */
  readonly attempts: WriteAttempt[] = [];
  readonly #server: TestServer;
  readonly #writers: Promise<void>[];
  #revision = 0;
  #isOver = false;
  #failure: unknown;

  constructor(server: TestServer, writers: number) {
    this.#server = server;
    this.#writers = Array.from({ length: writers }, (_, index) => this.#write(index));
    for (const writer of this.#writers) {
      writer.catch((error: unknown) => (this.#failure ??= error));
    }
  }

  get stored(): readonly WriteAttempt[] {
    return this.attempts.filter(({ outcome }) => outcome === 'stored');
  }

  /** Waits until the given number of further writes are acknowledged. */
  async goesOn(count: number): Promise<void> {
    const wanted = this.stored.length + count;
    const describe = (): string => `${wanted} acknowledged writes; there are ${this.stored.length}`;
    await eventually(() => this.#failure !== undefined || this.stored.length >= wanted, {
      timeoutMs: 25_000,
      describe,
    });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until a write is not acknowledged. */
  async isRefused(): Promise<void> {
    await eventually(() => this.#failure !== undefined || this.stored.length < this.attempts.length, {
      timeoutMs: 15_000,
      describe: 'a write that is not acknowledged',
    });
  }

  /** Stops the writers. Rejects when a writer got an unexpected response. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#writers);
  }

  async #write(writer: number): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) await this.#writeObject(`thing-${writer}-${round}`, round);
  }

  /**
   * Creates, changes and perhaps deletes one object. Ends when a write is not acknowledged, because the state of the
   * object is then unknown.
   */
  async #writeObject(name: string, round: number): Promise<void> {
    const path = `${thingsPath}/${name}`;
    const text = `${name}, made`;
    const thing = { apiVersion: 'things.example.com/v1', kind: 'Thing', metadata: { name } };
    const spec = { slug: `slug-${name}`, round, text };
    let present = await this.#attempt({ name, op: 'create', text }, () =>
      this.#server.post(thingsPath, { ...thing, spec }),
    );
    for (const changed of [`${name}, changed`, `${name}, changed again`]) {
      if (!present) return;
      const body = { ...thing, metadata: present.metadata, spec: { ...spec, text: changed } };
      present = await this.#attempt({ name, op: 'update', text: changed }, () => this.#server.put(path, body));
    }
    if (present && round % 3 === 0)
      await this.#attempt({ name, op: 'delete', text: '' }, () => this.#server.delete(path));
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  async #attempt(write: Pick<WriteAttempt, 'name' | 'op' | 'text'>, send: () => Promise<Answer>): Promise<any> {
    const sentAfter = this.#revision;
    const answer = await send();
    const outcome = outcomeOf(answer);
    if (!outcome) throw new Error(`${write.op} ${write.name}: ${answer.status} ${answer.text}`);
    const isObject = outcome === 'stored' && write.op !== 'delete';
    const revision = isObject ? Number(answer.body.metadata.resourceVersion) : undefined;
    this.#revision = Math.max(this.#revision, revision ?? 0);
    this.attempts.push({ ...write, outcome, sentAfter, revision, body: outcome === 'stored' ? answer.text : '' });
    return outcome === 'stored' ? answer.body : undefined;
  }
}

/**
 * Returns the outcome of a response; undefined for a response that an outage cannot cause. For example, a conflict
 * would mean that a write was executed twice.
 */
function outcomeOf({ status }: Answer): WriteAttempt['outcome'] | undefined {
  if (status === 200 || status === 201) return 'stored';
  if (status === 503) return 'refused';
  return status === 504 ? 'unknown' : undefined;
}
