import { silentLogger, startTestServer } from 'homeostat/testing';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command } from './support/commands/command.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const sites = join(root, 'examples/02-owned-objects');
const machines = join(root, 'examples/03-external-system');

const site = `
apiVersion: sites.example.com/v1alpha1
kind: Site
metadata: { name: blog }
spec: { host: blog.example.com, pages: [{ name: about, title: About us }], redirects: [] }
`;
const machine = `
apiVersion: cloud.example.com/v1alpha1
kind: Machine
metadata: { name: m1 }
spec: { size: small }
`;

/** A planned change in the JSON output of `homeostat plan`. */
interface Change {
  readonly kind: string;
  readonly name: string;
  readonly action: string;
  readonly after?: { readonly status?: unknown };
}

describe('homeostat plan [spec experience-plan]', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-plan-'));
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  /**
   * Serves a plugin with an object until its controllers have no work, stops the server, and returns the path of an
   * export of the database.
   */
  async function stateOf(plugin: string, object: string): Promise<string> {
    const database = `sqlite:${join(folder, 'state.db')}`;
    const server = await startTestServer({ database, plugins: [plugin], logger: silentLogger });
    await writeFile(join(folder, 'object.yaml'), object);
    await command(['apply', '-f', join(folder, 'object.yaml'), '--server', server.url]);
    await server.settle();
    await server.stop();
    const file = join(folder, 'export.ndjson');
    await command(['export', '--database', database, '--output', file]);
    return file;
  }

  /** Returns a copy of an example with a change in its compiled code. */
  async function changed(plugin: string, file: string, from: string, to: string): Promise<string> {
    const copy = join(folder, 'changed');
    await cp(plugin, copy, { recursive: true });
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    const text = await readFile(join(copy, 'dist', file), 'utf8');
    expect(text).to.include(from);
    await writeFile(join(copy, 'dist', file), text.replaceAll(from, to));
    return copy;
  }

  async function changesOf(plugin: string, from: string): Promise<readonly Change[]> {
    const { code, stdout, stderr } = await command(['plan', '--plugin', plugin, '--from', from, '-o', 'json']);
    expect(`${code} ${stderr}`).to.equal('2 ');
    return (JSON.parse(stdout) as { changes: readonly Change[] }).changes;
  }

  it('shows the changes that a changed reconciler of example 02 would make [slow]', async () => {
    const from = await stateOf(sites, site);
    const next = await changed(sites, 'dependents.js', 'ready: true', 'ready: false');
    const changes = await changesOf(next, from);
    expect(changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).to.deep.equal([
      'change Page blog.about',
      'change Site blog',
    ]);
    const real = await startTestServer({ database: `sqlite:${join(folder, 'state.db')}`, plugins: [next] });
    await real.settle();
    for (const { kind, name, after } of changes) {
      const path = `/apis/sites.example.com/v1alpha1/${kind.toLowerCase()}s/${name}`;
      const live: unknown = await (await fetch(`${real.url}${path}`)).json();
      expect(withoutTimes(Reflect.get(Object(live), 'status')), name).to.deep.equal(withoutTimes(after?.status));
    }
    await real.stop();
    const text = await command(['plan', '--plugin', next, '--from', from]);
    expect(text.stdout)
      .to.include('~ page.sites.example.com/blog.about')
      .and.include('-  ready: true\n+  ready: false\n');
    expect(text.stdout).to.match(/\nPlan for revision \d+: 0 to create, 2 to change, 0 to delete\.\n$/);
    expect((await command(['plan', '--plugin', sites, '--from', from])).code, 'the same version').to.equal(0);
  });

  it('lists the calls of example 03 to its cloud without making them [slow]', async () => {
    const from = await stateOf(machines, machine);
    const { code, stdout } = await command(['plan', '--plugin', machines, '--from', from]);
    expect(code).to.equal(2);
    expect(stdout).to.match(
      /! external call, not made: GET http:\/\/127\.0\.0\.1:\d+\/machines\/[\w-]+ \(\d+ times\)\n/,
    );
    expect(stdout).to.include('! failed: ').and.include('a plan makes no external calls: GET http://127.0.0.1');
  });

  it('reads the state from a running server without writing to it [slow]', async () => {
    const server = await startTestServer({ plugins: [sites] });
    await writeFile(join(folder, 'object.yaml'), site);
    await command(['apply', '-f', join(folder, 'object.yaml'), '--server', server.url]);
    await server.settle();
    const revisionOf = async (): Promise<unknown> => {
      const list: unknown = await (await fetch(`${server.url}/apis/sites.example.com/v1alpha1/sites`)).json();
      return isJsonObject(list) && isJsonObject(list['metadata']) ? list['metadata']['resourceVersion'] : undefined;
    };
    const before = await revisionOf();
    expect(
      await changesOf(await changed(sites, 'dependents.js', 'ready: true', 'ready: false'), server.url),
    ).to.have.length(2);
    expect(before).to.match(/^\d+$/);
    expect(await revisionOf()).to.equal(before);
    await server.stop();
  });

  it('exits with 1 (2 means changes) for a wrong option, a missing plugin or export, or an unreachable server [slow]', async () => {
    const plan = async (...args: readonly string[]): Promise<string> => {
      const { code, stderr } = await command(['plan', ...args]);
      return `${code} ${stderr}`;
    };
    const none = join(folder, 'none');
    expect(await plan('--from', none)).to.include('1 --plugin is needed');
    expect(await plan('--plugin', sites, '--from', none, '-o', 'xml')).to.include('1 -o: must be text or json');
    expect(await plan('--plugin', sites, '--from', none)).to.match(/^1 homeostat plan failed: .*none/);
    expect(await plan('--plugin', none, '--from', await stateOf(sites, site))).to.match(
      /^1 homeostat plan failed: .*none/,
    );
    expect(await plan('--plugin', sites, '--from', 'http://127.0.0.1:1')).to.match(/^1 homeostat plan failed: /);
    expect(await plan('--plugins', sites)).to.match(/^1 .*unknown option '--plugins'/);
    expect(await plan(sites)).to.match(/^1 .*unexpected argument/);
    expect((await command(['plan', '--help'])).code).to.equal(0);
  });
});

function withoutTimes(status: unknown): unknown {
  return JSON.parse(
    JSON.stringify(status, (key, value: unknown) => (key === 'lastTransitionTime' ? undefined : value)),
  );
}
