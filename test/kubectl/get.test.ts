import { expect } from 'chai';
import { demoPersons } from '../support/models/demo-person.ts';
import { KubectlSetup } from './kubectl-setup.ts';

const table = `NAME   AGE   READY   CREATED
bob    20            20s
ann    30            3m20s
`;

describe('kubectl get [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  const prints: Readonly<Record<string, readonly (readonly [args: string, stdout: string | RegExp])[]>> = {
    'a table [compat tables]': [
      ['persons', table],
      ['person', table],
      ['ps', table],
      ['people', table],
      ['all', table],
      ['persons.v1alpha1.demo.example.com', table],
      ['persons -A', table],
      ['persons -n foo', table],
      ['person ann', 'NAME   AGE   READY   CREATED\nann    30            3m20s\n'],
      ['person ann bob', 'NAME   AGE   READY   CREATED\nann    30            3m20s\nbob    20            20s\n'],
      ['persons --no-headers', 'bob   20          20s\nann   30          3m20s\n'],
      [
        'persons -o wide',
        'NAME   AGE   GENDER   READY   CREATED\nbob    20    MALE             20s\nann    30    FEMALE           3m20s\n',
      ],
      [
        'persons --show-labels',
        'NAME   AGE   READY   CREATED   LABELS\nbob    20            20s       team=blue\nann    30            3m20s     team=red\n',
      ],
      ['persons -L team -l team=red', 'NAME   AGE   READY   CREATED   TEAM\nann    30            3m20s     red\n'],
      [
        'persons --sort-by=.spec.name',
        'NAME   AGE   READY   CREATED\nann    30            3m20s\nbob    20            20s\n',
      ],
      ['persons --sort-by=.spec.age', table],
      ['persons --server-print=false', /^NAME +AGE\nbob +\w+\nann +\w+\n$/],
      ['person nobody --ignore-not-found', ''],
    ],
    'a list in chunks [compat chunks]': [
      ['persons --chunk-size=1', table],
      ['persons --chunk-size=0', table],
      ['persons --chunk-size=1 -o name', 'person.demo.example.com/bob\nperson.demo.example.com/ann\n'],
    ],
    'objects [compat output]': [
      ['persons -o name', 'person.demo.example.com/bob\nperson.demo.example.com/ann\n'],
      ['person ann -o jsonpath={.spec.age}', '30'],
      ['persons -o jsonpath={.items[*].metadata.name}', 'bob ann'],
      ['persons -o custom-columns=N:.metadata.name,A:.spec.age', 'N     A\nbob   20\nann   30\n'],
      [
        'person ann -o yaml',
        /^apiVersion: demo.example.com\/v1alpha1\nkind: Person\n[^]*spec:\n {2}age: 30\n {2}gender: FEMALE\n/,
      ],
      ['persons -o yaml', /^apiVersion: v1\nitems:\n- apiVersion: demo[^]*kind: List\n/],
      ['person ann --show-managed-fields -o jsonpath={.metadata.managedFields[*].operation}', 'Update'],
    ],
    'selected objects [compat selectors]': [
      ['persons --field-selector metadata.name=ann -o name', 'person.demo.example.com/ann\n'],
      ['persons --field-selector spec.gender=MALE -o name', 'person.demo.example.com/bob\n'],
      ['persons --field-selector spec.gender!=MALE -o name', 'person.demo.example.com/ann\n'],
      ['persons -l team=none', ''],
    ],
    'a subresource [compat status]': [
      ['person ann --subresource=status', 'NAME   AGE   READY   CREATED\nann    30            3m20s\n'],
    ],
    'a raw path [compat raw]': [['--raw /healthz', 'ok']],
  };
  for (const [what, commands] of Object.entries(prints)) {
    describe(what, () => {
      for (const [args, stdout] of commands) it(args, () => check(args, stdout));
    });
  }

  async function check(args: string, stdout: string | RegExp): Promise<void> {
    const printed = await kubectl.run('get', ...args.split(' '));
    expect(printed.exit, printed.stderr).to.equal(0);
    if (typeof stdout === 'string') expect(printed.stdout).to.equal(stdout);
    else expect(printed.stdout).to.match(stdout);
    const isEmpty = args.includes('team=none');
    expect(printed.stderr).to.equal(isEmpty ? 'No resources found\n' : '');
  }

  it('-l selects by a set of values and by the absence of a key [compat selectors]', async () => {
    const printed = await kubectl.run('get', 'persons', '-l', 'team in (red,green),!x', '-o', 'name');
    expect(printed).to.deep.equal({ exit: 0, stdout: 'person.demo.example.com/ann\n', stderr: '' });
  });

  it('with a name, -o json prints the object; without a name, it prints a List [compat output]', async () => {
    const one = await kubectl.run('get', 'person', 'ann', '-o', 'json');
    expect(JSON.parse(one.stdout)).to.deep.include({
      kind: 'Person',
      spec: { name: 'ANN', age: 30, gender: 'FEMALE' },
    });
    const list = JSON.parse((await kubectl.run('get', 'persons', '-o', 'json')).stdout) as {
      kind: string;
      items: unknown[];
    };
    expect([list.kind, list.items.length]).to.deep.equal(['List', 2]);
  });

  it('--raw prints the unchanged response [compat raw]', async () => {
    const { exit, stdout } = await kubectl.run('get', '--raw', `${demoPersons}/ann`);
    expect([exit, stdout]).to.deep.equal([0, (await kubectl.server.get(`${demoPersons}/ann`)).text]);
  });

  it('-f prints the objects that a file names [compat output]', async () => {
    const file = await kubectl.file('ann.json', (await kubectl.server.get(`${demoPersons}/ann`)).body as object);
    const { exit, stdout } = await kubectl.run('get', '-f', file, '-o', 'name');
    expect([exit, stdout]).to.deep.equal([0, 'person.demo.example.com/ann\n']);
  });

  const refused: readonly (readonly [args: string, stderr: string, feature: string])[] = [
    ['person nobody', 'Error from server (NotFound): persons.demo.example.com "nobody" not found\n', 'tables'],
    ['nothings', 'error: the server doesn\'t have a resource type "nothings"\n', 'discovery'],
    ['persons --field-selector spec.zzz=1', 'Error from server (BadRequest): ', 'selectors'],
    ['--raw /nowhere', 'Error from server (NotFound): the server could not find the requested resource\n', 'raw'],
  ];
  for (const [args, stderr, feature] of refused) {
    it(`${args} fails, and kubectl prints the reason [compat ${feature}]`, async () => {
      const printed = await kubectl.run('get', ...args.split(' '));
      expect([printed.exit, printed.stdout]).to.deep.equal([1, '']);
      expect(printed.stderr).to.contain(stderr);
    });
  }
});
