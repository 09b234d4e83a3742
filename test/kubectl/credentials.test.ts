import { createClient } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { finish } from '../support/command.ts';
import type { Finished } from '../support/command.ts';
import { skipWithoutKubectl } from '../support/kubectl.ts';
import { Person, person } from '../support/models.ts';
import { SecureServer, token } from '../support/secure-server.ts';

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

  it('is told that it cannot act as another user', async () => {
    for (const [args, header] of [
      [['--as', 'eve'], 'Impersonate-User'],
      [['--as', 'eve', '--as-group', 'readers'], 'Impersonate-(User|Group)'],
    ] as const) {
      const { code, stderr } = await kubectl(['get', 'persons', ...args]);
      expect(code).to.equal(1);
      const message = 'impersonation is not supported by this server: send no header';
      expect(stderr).to.match(new RegExp(`^Error from server \\(Forbidden\\): .*${message} ${header}\n$`));
    }
  });

  it('refuses a server for which another authority vouches', async () => {
    const other = await SecureServer.start();
    const { code, stderr } = await kubectl(['get', 'persons', '--server', other.http.api.url]);
    await other.stop();
    expect(code).to.equal(1);
    expect(stderr).to.include('certificate signed by unknown authority');
  });
});
