import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, readKubeconfig } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { command } from './support/command.ts';
import { findKubectl } from './support/kubectl.ts';
import type { Kubectl } from './support/kubectl.ts';
import { Person, person } from './support/models.ts';
import { SecureServer, token } from './support/secure-server.ts';

describe('kubectl with the kubeconfig that homeostat writes', () => {
  let server: SecureServer;
  let kubectl: Kubectl;

  before(async function find() {
    server = await SecureServer.start();
    const found = await findKubectl({ home: server.folder, kubeconfig: server.kubeconfig });
    if (found === undefined) this.skip();
    kubectl = found;
  });

  after(async () => server.stop());

  async function run(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(args);
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it('creates, gets, waits for and deletes objects', async () => {
    const input = JSON.stringify(person('ada', { name: 'Ada' }));
    const created = await kubectl(['create', '-f', '-'], { input });
    expect(created).to.deep.equal({ code: 0, stdout: 'person.people.example.com/ada created\n', stderr: '' });
    expect(await run('get', 'persons')).to.match(/^NAME +AGE\nada /);
    expect(JSON.parse(await run('get', 'person', 'ada', '-o', 'json')).spec.name).to.equal('Ada');
    const waiting = run('wait', '--for=jsonpath={.status.greeting}=Hello', 'person/ada', '--timeout=15s');
    await createClient(server.http.api.url, { token, ca: server.http.api.ca! }).patch(Person, 'ada', {
      type: 'merge',
      patch: { status: { greeting: 'Hello' } },
    });
    expect(await waiting).to.equal('person.people.example.com/ada condition met\n');
    expect(await run('delete', 'person', 'ada')).to.equal('person.people.example.com "ada" deleted\n');
    expect(await run('wait', '--for=delete', 'person/ada', '--timeout=5s')).to.be.a('string');
  });

  it('is told to log in when its token is another', async () => {
    const { code, stderr } = await kubectl(['get', 'persons', '--token', 'incorrect-horse-battery-staple']);
    expect(code).to.equal(1);
    expect(stderr).to.equal('error: You must be logged in to the server (Unauthorized)\n');
  });

  it('refuses a server for which another authority vouches', async () => {
    const other = await SecureServer.start();
    const { code, stderr } = await kubectl(['get', 'persons', '--server', other.http.api.url]);
    await other.stop();
    expect(code).to.equal(1);
    expect(stderr).to.include('certificate signed by unknown authority');
  });
});

describe('homeostat kubeconfig', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-kubeconfig-'));
  });

  afterEach(async () => rm(folder, { recursive: true }));

  it('writes a file that its owner alone can read, and another in its place only when forced', async () => {
    const server = await SecureServer.start();
    const output = server.kubeconfig;
    expect((await stat(output)).mode & 0o777).to.equal(0o600);
    const written = await readFile(output, 'utf8');
    await writeFile(output, 'of somebody else');
    const args = ['kubeconfig', '--tls-dir', join(server.folder, 'tls'), '--server', `${server.http.api.url}/`];
    const again = await command([...args, '--output', output], { HOMEOSTAT_TOKEN: token });
    expect(again).to.deep.equal({ code: 1, stdout: '', stderr: `${output}: is there already; --force replaces it\n` });
    expect(await readFile(output, 'utf8')).to.equal('of somebody else');
    const forced = await command([...args, '--output', output, '--force'], { HOMEOSTAT_TOKEN: token });
    expect(forced).to.deep.equal({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(output, 'utf8')).to.equal(written);
    expect((await command(args, { HOMEOSTAT_TOKEN: token })).stdout).to.equal(written);
    expect(readKubeconfig(output)).to.deep.equal({ url: server.http.api.url, ca: server.http.api.ca, token });
    await server.stop();
  });

  it('takes the address from what serve would be told, wherever that stands', async () => {
    await writeFile(
      join(folder, 'homeostat.yaml'),
      'host: "0.0.0.0"\nhost-name: [home.example.com]\nport: 9000\ninsecure: true\n',
    );
    const { stdout, stderr } = await command(['kubeconfig', '--name', 'home'], {
      HOMEOSTAT_CONFIG: join(folder, 'homeostat.yaml'),
      HOMEOSTAT_PORT: '9001',
    });
    const output = join(folder, 'kubeconfig');
    await writeFile(output, stdout);
    expect(readKubeconfig(output, { context: 'home' })).to.deep.equal({ url: 'http://home.example.com:9001' });
    expect(stderr).to.equal('warning: kubectl sends no credentials over plain HTTP\n');
    const ipv6 = await command(['kubeconfig', '--host', '::1']);
    expect(ipv6.stdout).to.include('server: http://[::1]:8700\n');
  });

  it('warns that a token is lost on kubectl without TLS', async () => {
    const { code, stdout, stderr } = await command(['kubeconfig'], { HOMEOSTAT_TOKEN: token });
    expect(code).to.equal(0);
    expect(stdout).to.include(`token: ${token}`);
    expect(stderr).to.include('this server will refuse it. Use --tls');
  });

  for (const [args, code, text] of [
    [['--tls', '--port', '0'], 2, 'say --server <url>'],
    [['--tls', '--server', 'nonsense'], 2, '--server: must be a URL such as'],
    [['--server', 'https://user:secret@example.com'], 2, '--server: must be a URL such as'],
    [['--tls-dir', '/nowhere'], 1, '/nowhere/ca.crt: is not there; the server makes it'],
    [['--tls', '--database', 'sqlite:///srv/none/h.db'], 1, '/srv/none/tls/ca.crt: is not there'],
    [['--tls-cert', '/nowhere.pem'], 2, '--tls-cert: needs its private key: --tls-key'],
    [['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key'], 1, '/nowhere.pem'],
    [['--host', '10.0.0.7'], 2, 'is not a loopback address: add --tls, or --insecure'],
    [['--output', '/nowhere/kubeconfig'], 1, '/nowhere/kubeconfig'],
  ] as const) {
    it(`exits with ${code} for: ${args.join(' ')}`, async () => {
      const finished = await command(['kubeconfig', ...args]);
      expect(finished.code).to.equal(code);
      expect(finished.stderr).to.include(text).and.not.include('secret');
      expect(finished.stdout).to.equal('');
    });
  }
});
