import { createClient } from '@homeostat/controller-runtime';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { finish } from '../support/commands/command.ts';
import type { Finished } from '../support/commands/command.ts';
import { skipWithoutKubectl } from '../support/commands/kubectl.ts';
import { Person, person } from '../support/models/models.ts';
import { SecureServer, token } from '../support/servers/secure-server.ts';

describe('kubectl with the kubeconfig that homeostat writes [compat credentials] [slow]', () => {
  let server: SecureServer;

  before(async function find() {
    await skipWithoutKubectl(this);
    server = await SecureServer.start();
  });

  after(async () => server?.stop());

  function kubectl(args: readonly string[], input?: string): Promise<Finished> {
    return finish('kubectl', args, { environment: { HOME: server.folder, KUBECONFIG: server.kubeconfig }, input });
  }

  async function run(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(args);
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it('creates, gets, waits for and deletes objects', async () => {
    const input = JSON.stringify(person('ada', { name: 'Ada' }));
    const created = await kubectl(['create', '-f', '-'], input);
    expect(created).to.deep.equal({ code: 0, stdout: 'person.people.example.com/ada created\n', stderr: '' });
    expect(await run('get', 'persons')).to.match(/^NAME +AGE\nada /);
    expect(JSON.parse(await run('get', 'person', 'ada', '-o', 'json')).spec.name).to.equal('Ada');
    const waiting = run(
      'wait',
      '--for=jsonpath={.status.greeting}=Hello',
      'person/ada',
      `--timeout=${testPatienceMs(15)}s`,
    );
    await createClient(server.http.api.url, { token, ca: server.http.api.ca! }).patch(Person, 'ada', {
      type: 'merge',
      patch: { status: { greeting: 'Hello' } },
    });
    expect(await waiting).to.equal('person.people.example.com/ada condition met\n');
    expect(await run('delete', 'person', 'ada')).to.equal('person.people.example.com "ada" deleted\n');
    expect(await run('wait', '--for=delete', 'person/ada', `--timeout=${testPatienceMs(5)}s`)).to.be.a('string');
  });

  it('prints that the user must be logged in when the token is wrong', async () => {
    const { code, stderr } = await kubectl(['get', 'persons', '--token', 'incorrect-horse-battery-staple']);
    expect(code).to.equal(1);
    expect(stderr).to.equal('error: You must be logged in to the server (Unauthorized)\n');
  });

  it('impersonates another user, with the permissions of that user', async () => {
    for (const args of [
      ['--as', 'eve'],
      ['--as', 'eve', '--as-group', 'readers'],
    ]) {
      const { code, stderr } = await kubectl(['get', 'persons', ...args]);
      expect(code).to.equal(1);
      expect(stderr).to.match(
        /^Error from server \(Forbidden\): persons.* is forbidden: User "eve" cannot list resource "persons"/,
      );
    }
  });

  it('finds the service account "default" in a new namespace, and again after the account is deleted', async () => {
    await run('create', 'namespace', 'team');
    await run('wait', '--for=create', 'serviceaccount/default', '-n', 'team', `--timeout=${testPatienceMs(15)}s`);
    expect(await run('get', 'serviceaccounts', '-n', 'team')).to.match(/^NAME .*\ndefault .*\n$/);
    expect((await run('create', 'token', 'default', '-n', 'team')).trim()).to.match(/^eyJ/);
    expect(await run('delete', 'serviceaccount', 'default', '-n', 'team')).to.include('deleted');
    await run('wait', '--for=create', 'serviceaccount/default', '-n', 'team', `--timeout=${testPatienceMs(15)}s`);
    await run('delete', 'namespace', 'team', '--wait=false');
  });

  it('creates service accounts and their tokens, which the server accepts until the account or the bound Secret is deleted', async () => {
    expect(await run('create', 'serviceaccount', 'robot')).to.equal('serviceaccount/robot created\n');
    expect(await run('create', 'secret', 'generic', 'pass', '--from-literal=a=b')).to.include('created');
    const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', 'pass', '--duration', '48h'];
    const plain = (await run('create', 'token', 'robot', '--duration', '20m')).trim();
    const token2 = (await run('create', 'token', 'robot', ...bound)).trim();
    const ca = `--certificate-authority=${server.folder}/tls/ca.crt`;
    const whoami = (bearer: string): Promise<Finished> =>
      finish('kubectl', ['auth', 'whoami', '--server', server.http.api.url, ca, '--token', bearer], {
        environment: { HOME: server.folder },
      });
    for (const bearer of [plain, token2])
      expect((await whoami(bearer)).stdout).to.match(/Username +system:serviceaccount:default:robot\n/);
    await run('delete', 'secret', 'pass');
    expect((await whoami(token2)).stderr).to.include('You must be logged in to the server (Unauthorized)');
    expect((await whoami(plain)).code).to.equal(0);
    await run('delete', 'serviceaccount', 'robot');
    expect((await whoami(plain)).stderr).to.include('You must be logged in to the server (Unauthorized)');
  });

  it('refuses a server with the certificate of another authority', async () => {
    const other = await SecureServer.start();
    const { code, stderr } = await kubectl(['get', 'persons', '--server', other.http.api.url]);
    await other.stop();
    expect(code).to.equal(1);
    expect(stderr).to.include('certificate signed by unknown authority');
  });
});
