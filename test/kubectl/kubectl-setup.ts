import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeClock, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPerson, demoPersons, newDemoPerson } from '../support/models/demo-person.ts';
import { skipWithoutKubectl } from '../support/commands/kubectl.ts';
import { TestServer } from '../support/servers/test-server.ts';

/** The output of a command, without the trailing spaces of kubectl's tables. */
export interface Printed {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The time limit of a kubectl command, which takes 0.1 s, and on a busy machine up to 10 s. */
const timeoutMs = 15_000;

/** Runs kubectl with its own home folder against a server with two demo persons. */
export class KubectlSetup {
  readonly server: TestServer;
  /** A clock that does not advance by itself, so that ages are the same on a slow machine. */
  readonly clock: FakeClock;
  readonly #home: string;
  readonly #watches = new Set<ChildProcess>();

  private constructor(parts: { server: TestServer; clock: FakeClock; home: string }) {
    this.server = parts.server;
    this.clock = parts.clock;
    this.#home = parts.home;
  }

  /** Starts the server. Call this in a `before`; the tests are skipped if kubectl is not installed. */
  static async start(context: Mocha.Context): Promise<KubectlSetup> {
    await skipWithoutKubectl(context);
    // The clock starts five minutes behind the real time, which kubectl uses, so that kubectl receives no future times.
    const clock = new FakeClock(Date.now() - 300_000);
    const server = await TestServer.start({ clock });
    const setup = new KubectlSetup({ server, clock, home: await mkdtemp(join(tmpdir(), 'kubectl-')) });
    server.api.schemeManager.register(demoPerson);
    await server.api.whenReady(demoPerson);
    await server.create(demoPersons, newDemoPerson('ann', { age: 30, gender: 'FEMALE' }, { labels: { team: 'red' } }));
    await clock.advance(180_000);
    await server.create(demoPersons, newDemoPerson('bob', { age: 20, gender: 'MALE' }, { labels: { team: 'blue' } }));
    await clock.advance(20_000);
    return setup;
  }

  async stop(): Promise<void> {
    for (const child of this.#watches) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await this.server.stop();
    await rm(this.#home, { recursive: true, force: true });
  }

  /** Returns the stored demo person with the given name. */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  async stored(name: string): Promise<any> {
    return (await this.server.get(`${demoPersons}/${name}`)).body;
  }

  /** Writes an object to a file for `-f`, and returns the path of the file. */
  async file(name: string, object: object): Promise<string> {
    const path = join(this.#home, name);
    await writeFile(path, JSON.stringify(object));
    return path;
  }

  /** Runs a command to its end. */
  run(...args: readonly string[]): Promise<Printed> {
    return this.runWith({}, ...args);
  }

  /** Runs a command that must succeed without warnings; returns its output. */
  async succeeds(...args: readonly string[]): Promise<string> {
    const { exit, stdout, stderr } = await this.run(...args);
    expect([exit, stderr], args.join(' ')).to.deep.equal([0, '']);
    return stdout;
  }

  /** Runs a command that must fail; returns the error. */
  async fails(...args: readonly string[]): Promise<string> {
    const { exit, stderr } = await this.run(...args);
    expect(exit, args.join(' ')).to.equal(1);
    return stderr;
  }

  /** Runs a command with additional environment variables. */
  runWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Printed> {
    return new Promise((resolve, reject) => {
      const options = { env: { ...this.#env(), ...env }, timeout: testPatienceMs(timeoutMs), cwd: this.#home };
      execFile('kubectl', this.#args(args), options, (error, stdout, stderr) => {
        const exit = error === null ? 0 : error.code;
        if (typeof exit === 'number') resolve({ exit, stdout: trimmed(stdout), stderr: trimmed(stderr) });
        else reject(new Error(`kubectl ${args.join(' ')} did not end by itself: ${stdout}${stderr}`, { cause: error }));
      });
    });
  }

  /**
   * Starts a long-running command. Returns a function that waits until the output matches a pattern, and then resolves
   * with all complete lines of the output.
   */
  watch(...args: readonly string[]): (pattern: RegExp) => Promise<readonly string[]> {
    const child = spawn('kubectl', this.#args(args), { env: this.#env(), cwd: this.#home });
    this.#watches.add(child);
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    return async (pattern) => {
      const matches = (): boolean => pattern.test(trimmed(printed));
      await eventually(matches, { describe: () => `${String(pattern)}; printed: ${printed}` });
      return trimmed(printed).split('\n').slice(0, -1);
    };
  }

  #args(args: readonly string[]): string[] {
    return ['--server', this.server.api.url, ...args];
  }

  #env(): NodeJS.ProcessEnv {
    // GOGC=off saves a sixth of the CPU time: kubectl ends so soon that it needs no garbage collection.
    return { HOME: this.#home, PATH: process.env['PATH'], GOGC: 'off' };
  }
}

function trimmed(text: string): string {
  return text.replaceAll(/ +$/gm, '');
}
