import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';

/** A definition in test/crds, and the expected results for its objects. */
interface Definition {
  readonly file: string;
  readonly name: string;
  readonly type: string;
  readonly valid: { readonly apiVersion: string; readonly kind: string; readonly spec: object };
  /** Values of the valid object as it is stored, by the paths of their fields. Most of them are defaults. */
  readonly defaulted: Readonly<Record<string, unknown>>;
  readonly table: RegExp;
  readonly invalid: readonly (readonly [spec: object, causes: readonly string[]])[];
  readonly explained: readonly [field: string, text: string];
}

const definitions: readonly Definition[] = [
  {
    file: 'broker-classes.yaml',
    name: 'brokerclasses.messaging.example.com',
    type: 'brokerclass',
    valid: {
      apiVersion: 'messaging.example.com/v1',
      kind: 'BrokerClass',
      spec: { controllerName: 'example.com/brokers' },
    },
    defaulted: { 'status.conditions[0].type': 'Accepted', 'status.conditions[0].status': 'Unknown' },
    table: /^NAME +CONTROLLER +ACCEPTED +AGE\ngood +example.com\/brokers +Unknown +\S+\n$/,
    invalid: [
      [
        { controllerName: 'brokers' },
        ['spec.controllerName: Invalid value: "brokers": spec.controllerName in body should match'],
      ],
      [
        { controllerName: 'example.com/b', description: 'x'.repeat(65), parametersRef: { group: 'g', kind: '' } },
        [
          '* spec.description: Too long:',
          '* spec.parametersRef.kind: Invalid value:',
          '* spec.parametersRef.name: Required value',
        ],
      ],
    ],
    explained: ['brokerclass.spec.controllerName', 'Who runs brokers of this class'],
  },
  {
    file: 'team-projects.yaml',
    name: 'teamprojects.deploy.example.com',
    type: 'teamproject',
    valid: {
      apiVersion: 'deploy.example.com/v1alpha1',
      kind: 'TeamProject',
      spec: {
        sourceRepos: ['*'],
        destinations: [{ server: '*', namespace: '*' }],
        roles: [{ name: 'ci', policies: ['p'] }],
      },
    },
    defaulted: { 'spec.roles[0].name': 'ci' },
    table: /^NAME +AGE\ngood +\S+\n$/,
    invalid: [
      [
        { description: 3 },
        ['spec.description: Invalid value: "integer": spec.description in body must be of type string'],
      ],
      [
        { clusterResourceAllowlist: [{ group: '' }], roles: [{ name: 'a' }, { tokens: [{}] }] },
        [
          '* spec.clusterResourceAllowlist[0].kind: Required value',
          '* spec.roles[1].name: Required value',
          '* spec.roles[1].tokens[0].issued: Required value',
        ],
      ],
    ],
    explained: ['teamproject.spec.roles', 'Who may do what'],
  },
  {
    file: 'chart-sources.yaml',
    name: 'chartsources.registry.example.com',
    type: 'chartsource',
    valid: {
      apiVersion: 'registry.example.com/v1',
      kind: 'ChartSource',
      spec: { url: 'https://example.com/charts', interval: '5m' },
    },
    defaulted: { 'spec.provider': 'generic', 'status.observedGeneration': -1 },
    table: /^NAME +URL +READY +STATUS\ngood +https:\/\/example.com\/charts\n$/,
    invalid: [
      [{ interval: '5m' }, ['spec.url: Required value']],
      [
        { url: 'ftp://example.com', interval: 'soon', provider: 'none' },
        [
          '* spec.interval: Invalid value: "soon"',
          '* spec.provider: Unsupported value: "none"',
          '* spec.url: Invalid value: "ftp://example.com"',
        ],
      ],
    ],
    explained: ['chartsource.spec.interval', 'Time between two looks'],
  },
];

describe('kubectl and definitions like those of operators [compat definitions] [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  for (const { file, name, type, valid, defaulted, table, invalid, explained } of definitions) {
    describe(file, () => {
      const path = fileURLToPath(new URL(`../../crds/${file}`, import.meta.url));
      const group = name.slice(name.indexOf('.') + 1);

      const objectFile = (object: string, spec: object): Promise<string> =>
        kubectl.file(`${object}.json`, { ...valid, metadata: { name: object }, spec });

      it('is created by kubectl apply, and becomes Established', async () => {
        const crd = `customresourcedefinition.apiextensions.k8s.io/${name}`;
        expect(await kubectl.succeeds('apply', '-f', path)).to.equal(`${crd} created\n`);
        expect(await kubectl.succeeds('wait', '--for=condition=Established', `crd/${name}`)).to.contain(
          'condition met',
        );
        expect(await kubectl.succeeds('apply', '-f', path)).to.equal(`${crd} unchanged\n`);
      });

      it("the objects of the defined kind get the schema's defaults, and kubectl get prints the columns of the definition", async () => {
        const good = await objectFile('good', valid.spec);
        expect(await kubectl.succeeds('apply', '-f', good)).to.equal(`${type}.${group}/good created\n`);
        expect(await kubectl.succeeds('apply', '-f', good)).to.equal(`${type}.${group}/good unchanged\n`);
        const stored: unknown = JSON.parse(await kubectl.succeeds('get', type, 'good', '-o', 'json'));
        for (const [field, value] of Object.entries(defaulted)) expect(stored).to.have.nested.property(field, value);
        expect(await kubectl.succeeds('get', type)).to.match(table);
      });

      it('refuses objects that break the schema of the definition, and names each wrong field; also refuses unknown fields', async () => {
        for (const [spec, causes] of invalid) {
          const refusal = await kubectl.fails('create', '-f', await objectFile('bad', spec));
          expect(refusal).to.match(new RegExp(`^The ${valid.kind} "bad" is invalid:`));
          for (const cause of causes) expect(refusal).to.contain(cause);
        }
        const odd = await kubectl.fails(
          'create',
          '-f',
          await objectFile('odd', { ...valid.spec, nothingOfTheKind: 1 }),
        );
        expect(odd).to.contain('unknown field "spec.nothingOfTheKind"');
      });

      it('kubectl explain prints the description of a field from the definition', async () => {
        const [field, text] = explained;
        expect(await kubectl.succeeds('explain', field)).to.contain(text);
      });

      it('kubectl deletes an object of the defined kind, and deletes the definition of a kind that still has an object', async () => {
        expect(await kubectl.succeeds('delete', type, 'good')).to.equal(`${type}.${group} "good" deleted\n`);
        await kubectl.succeeds('apply', '-f', await objectFile('last', valid.spec));
        expect(await kubectl.succeeds('delete', 'crd', name)).to.contain('deleted');
        expect(await kubectl.fails('get', 'crd', name)).to.contain('not found');
      });
    });
  }
});
