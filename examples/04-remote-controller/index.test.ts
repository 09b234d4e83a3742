import { expect } from 'chai';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Digest } from './digest.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const program = fileURLToPath(new URL('./main.js', import.meta.url));

/** The shortest lease that works on a busy machine. */
const leaseSeconds = '3';
/** The time within which a new leader takes over: the lease must expire, and a retry must be due. */
const takeover = { timeoutMs: 15_000 };

/** A process that runs the controller. */
class WorkerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<unknown>;
  #said = '';
  errors = '';

  constructor(url: string) {
    this.#child = spawn(process.execPath, [...process.execArgv, program, url, leaseSeconds]);
    this.#child.stdout.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
    this.#child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    this.#exited = once(this.#child, 'close');
  }

  /** The name of the process; empty until it has printed something. */
  get name(): string {
    return this.#said.split(' ', 1)[0] ?? '';
  }

  get leads(): boolean {
    return this.#said.endsWith(' leads\n');
  }

  signal(name: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  /** Resolves with the exit code when the process has ended; null when it was killed. */
  async exit(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }
}

describe('example 04: remote controller [slow]', () => {
  let server: TestServer;
  let workers: WorkerProcess[];
  let leader: WorkerProcess;
  let other: WorkerProcess;

  const start = (): WorkerProcess => {
    const worker = new WorkerProcess(server.url);
    workers.push(worker);
    return worker;
  };
  const create = (name: string): Promise<unknown> =>
    server.httpClient.create(Digest, { metadata: { name }, spec: { text: `text of ${name}` } });
  const workerOf = async (name: string): Promise<string | undefined> =>
    (await server.httpClient.get(Digest, name)).status?.worker;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    workers = [];
    leader = start();
    await eventually(() => leader.leads, { ...takeover, describe: () => `a leader: ${leader.errors}` });
    other = start();
    await eventually(() => other.name !== '', takeover);
  });

  afterEach(async () => {
    for (const worker of workers) worker.signal('SIGKILL');
    for (const worker of workers) await worker.exit();
    await server.stop();
  });

  it('runs in one process, and in the other process after the first process is killed', async () => {
    await create('before');
    await eventually(async () => (await workerOf('before')) === leader.name);
    leader.signal('SIGKILL');
    await leader.exit();
    await create('after');
    await eventually(async () => (await workerOf('after')) === other.name, takeover);
    const { status } = await server.httpClient.get(Digest, 'after');
    expect(status?.sha256).to.equal(createHash('sha256').update('text of after').digest('hex'));
    // The new leader has not repeated the work of the former one.
    expect(await workerOf('before')).to.equal(leader.name);
  });

  it('lets the other process lead when the leader stops', async () => {
    leader.signal('SIGTERM');
    expect(await leader.exit()).to.equal(0);
    await create('after');
    await eventually(async () => (await workerOf('after')) === other.name, takeover);
  });

  it('a leader that was suspended while the other process took over ends with an error, and has written nothing', async () => {
    leader.signal('SIGSTOP');
    await eventually(() => other.leads, takeover);
    await create('after');
    leader.signal('SIGCONT');
    expect(await leader.exit()).to.equal(1);
    expect(leader.errors).to.include('the lease is lost');
    await eventually(async () => (await workerOf('after')) === other.name);
  });
});
