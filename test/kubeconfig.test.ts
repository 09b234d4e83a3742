import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readKubeconfig } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { command } from './support/commands/command.ts';
import { SecureServer, token } from './support/servers/secure-server.ts';

describe('homeostat kubeconfig', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-kubeconfig-'));
  });

  afterEach(async () => rm(folder, { recursive: true }));

  it('writes a file that only its owner can read, and replaces an existing file only with --force', async () => {
    const server = await SecureServer.start();
    const output = server.kubeconfig;
    expect((await stat(output)).mode & 0o777).to.equal(0o600);
    const written = await readFile(output, 'utf8');
    await writeFile(output, 'an existing file');
    const args = ['kubeconfig', '--tls-dir', join(server.folder, 'tls'), '--server', `${server.http.api.url}/`];
    const again = await command([...args, '--output', output], { HOMEOSTAT_TOKEN: token });
    expect(again).to.deep.equal({ code: 1, stdout: '', stderr: `${output}: exists already; --force replaces it\n` });
    expect(await readFile(output, 'utf8')).to.equal('an existing file');
    const forced = await command([...args, '--output', output, '--force'], { HOMEOSTAT_TOKEN: token });
    expect(forced).to.deep.equal({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(output, 'utf8')).to.equal(written);
    expect((await command(args, { HOMEOSTAT_TOKEN: token })).stdout).to.equal(written);
    expect(readKubeconfig(output)).to.deep.equal({ url: server.http.api.url, ca: server.http.api.ca, token });
    await server.stop();
  });

  it('takes the address from the options of serve in flags, environment variables or the configuration file', async () => {
    await writeFile(
      join(folder, 'homeostat.yaml'),
      'host: "0.0.0.0"\nhost-name: [home.example.com]\nport: 9000\ninsecure: true\n',
    );
    const { stdout, stderr } = await command(['kubeconfig', '--name', 'home'], {
      HOMEOSTAT_CONFIG: join(folder, 'homeostat.yaml'),
      HOMEOSTAT_PORT: '9001',
      HOMEOSTAT_DATABASE: `sqlite:${join(folder, 'h.db')}`,
    });
    const output = join(folder, 'kubeconfig');
    await writeFile(output, stdout);
    expect(readKubeconfig(output, { context: 'home' })).to.deep.equal({ url: 'http://home.example.com:9001' });
    expect(stderr).to.equal(
      `warning: the kubeconfig has no token: the server writes ${join(folder, 'admin.kubeconfig')} when it starts for the first time\n` +
        'warning: kubectl sends no credentials over plain HTTP, so this server will refuse the requests of kubectl. Use --tls\n',
    );
    const ipv6 = await command(['kubeconfig', '--host', '::1', '--auth', 'open']);
    expect(ipv6.stderr).to.equal('warning: kubectl sends no credentials over plain HTTP\n');
    expect(ipv6.stdout).to.include('server: http://[::1]:8700\n');
  });

  it('warns without TLS that kubectl does not send the token', async () => {
    const { code, stdout, stderr } = await command(['kubeconfig'], { HOMEOSTAT_TOKEN: token });
    expect(code).to.equal(0);
    expect(stdout).to.include(`token: ${token}`);
    expect(stderr).to.include('this server will refuse the requests of kubectl. Use --tls');
  });

  for (const [args, code, text] of [
    [['--tls', '--port', '0'], 2, 'add --server <url>'],
    [['--tls', '--server', 'nonsense'], 2, '--server: must be a URL such as'],
    [['--server', 'https://user:secret@example.com'], 2, '--server: must be a URL such as'],
    [['--tls-dir', '/nowhere'], 1, '/nowhere/ca.crt: does not exist; the server creates this file'],
    [['--tls', '--database', 'sqlite:///srv/none/h.db'], 1, '/srv/none/tls/ca.crt: does not exist'],
    [['--tls-cert', '/nowhere.pem'], 2, '--tls-cert: needs its private key: --tls-key'],
    [['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key'], 1, '/nowhere.pem'],
    [['--host', '10.0.0.7'], 2, 'is not 127.0.0.1, ::1 or localhost: add --tls, or --insecure'],
    [['--output', '/nowhere/kubeconfig'], 1, '/nowhere/kubeconfig'],
  ] as const) {
    it(`exits with ${code} for the arguments: ${args.join(' ')}`, async () => {
      const finished = await command(['kubeconfig', ...args]);
      expect(finished.code).to.equal(code);
      expect(finished.stderr).to.include(text).and.not.include('secret');
      expect(finished.stdout).to.equal('');
    });
  }
});
