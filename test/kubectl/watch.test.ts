import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPersons, newDemoPerson } from '../support/models/demo-person.ts';
import { KubectlSetup } from './kubectl-setup.ts';

/** Returns a pattern for an output with at least the given number of lines. */
function lines(count: number): RegExp {
  return new RegExp(`^(.*\\n){${count}}`);
}

describe('kubectl watches [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  function setAge(name: string, age: number): Promise<unknown> {
    return kubectl.server.patch(`${demoPersons}/${name}`, { spec: { age } });
  }

  it('get -w prints the table, and then a row for each change [compat watch]', async () => {
    const printed = kubectl.watch('get', 'ps', '-w');
    const before = await printed(lines(3));
    await setAge('ann', 31);
    await kubectl.server.create(demoPersons, newDemoPerson('cat'));
    await kubectl.server.delete(`${demoPersons}/cat`);
    const rows = (await printed(lines(6))).slice(before.length);
    expect(rows.map((row) => row.split(/ +/).slice(0, 2))).to.deep.equal([
      ['ann', '31'],
      ['cat', '0s'],
      ['cat', '0s'],
    ]);
    expect(before[0]).to.match(/^NAME +AGE +READY +CREATED$/);
  });

  it('get NAME -w prints the object, and then each of its changes [compat watch]', async () => {
    const printed = kubectl.watch('get', 'ps', 'bob', '-w', '--no-headers');
    await printed(lines(1));
    await setAge('ann', 32);
    await setAge('bob', 21);
    const rows = await printed(/^bob +21 /m);
    expect(rows.filter((row) => !row.startsWith('bob'))).to.deep.equal([]);
  });

  it('get --watch-only prints only the changes [compat watch]', async () => {
    const printed = kubectl.watch('get', 'ps', '--watch-only', '-o', 'name');
    // Only a printed change shows that kubectl has started its watch.
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    const first = printed(lines(1));
    first.then(settle, settle);
    for (let age = 40; !isSettled; age = age === 40 ? 41 : 40) await setAge('ann', age);
    expect(new Set(await first)).to.deep.equal(new Set(['person.demo.example.com/ann']));
  });

  it('get -w -o jsonpath --output-watch-events prints events with their types [compat watch]', async () => {
    const printed = kubectl.watch(
      'get',
      'ps',
      '-w',
      '-o',
      'jsonpath={.type}:{.object.metadata.name}{"\\n"}',
      '--output-watch-events',
    );
    expect([...(await printed(lines(2)))].sort()).to.deep.equal(['ADDED:ann', 'ADDED:bob']);
    await setAge('bob', 22);
    expect((await printed(lines(3))).at(-1)).to.equal('MODIFIED:bob');
  });

  it('wait --for=condition ends when the condition becomes true [compat wait]', async () => {
    const printed = kubectl.watch('wait', '--for=condition=Ready', 'ps/bob', `--timeout=${testPatienceMs(20)}s`);
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    await kubectl.server.patch(`${demoPersons}/bob/status`, { status });
    expect(await printed(lines(1))).to.deep.equal(['person.demo.example.com/bob condition met']);
  });

  it('wait --for=jsonpath, --for=create and --for=delete succeed when their condition is met [compat wait]', async () => {
    const met = { exit: 0, stdout: 'person.demo.example.com/ann condition met\n', stderr: '' };
    expect(
      await kubectl.run('wait', '--for=jsonpath={.spec.gender}=FEMALE', 'ps/ann', `--timeout=${testPatienceMs(5)}s`),
    ).to.deep.equal(met);
    expect(await kubectl.run('wait', '--for=create', 'ps/ann', `--timeout=${testPatienceMs(5)}s`)).to.deep.equal(met);
    expect((await kubectl.run('wait', '--for=delete', 'ps/cat', `--timeout=${testPatienceMs(5)}s`)).exit).to.equal(0);
  });

  it('wait ends at its timeout when the condition is not met [compat wait]', async () => {
    const { exit, stderr } = await kubectl.run('wait', '--for=jsonpath={.spec.gender}=X', 'ps/ann', '--timeout=100ms');
    expect([exit, stderr]).to.deep.equal([1, 'error: timed out waiting for the condition on persons/ann\n']);
  });
});
