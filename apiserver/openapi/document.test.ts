import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import type { ApiSurface } from './api-surface.ts';
import { methods } from './open-api.ts';
import type { OpenApiDocument, OpenApiOperation } from './open-api.ts';
import { documentsOf, routes, servedModels } from './served-models.fixture.ts';

const surface: ApiSurface = { models: servedModels(), routes };
const { whole, parts } = await documentsOf(surface);
const all: readonly (readonly [string, OpenApiDocument])[] = [['the whole document', whole], ...parts];
const people = '/apis/people.example.com/v1alpha1';

/** Returns all `$ref`s in a document. */
function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}

function operationsOf(document: OpenApiDocument): readonly (readonly [path: string, operation: OpenApiOperation])[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => (item[method] === undefined ? [] : [[path, item[method]] as const])),
  );
}

function parameterNames(operation: OpenApiOperation | undefined): readonly string[] {
  return (operation?.parameters ?? []).map(({ name }) => name);
}

describe('OpenAPI documents', () => {
  it('exist for each group version of models and of endpoints', () => {
    expect([...parts.keys()]).to.deep.equal([
      'api/v1',
      'apis/api.people.example.com/v1alpha1',
      'apis/old-people.example.com/v1alpha1',
      'apis/people.example.com/v1alpha1',
      'apis/plugin.api.homeostat.internal/v1alpha1',
    ]);
    const inParts = [...parts.values()].flatMap((document) => Object.keys(document.paths));
    expect(Object.keys(whole.paths)).to.have.members(inParts);
  });

  for (const [name, document] of all) {
    describe(name, () => {
      it('is valid OpenAPI 3.0 [spec 1-openapi-v3]', async () => {
        const result = await new Validator().validate({ ...structuredClone(document) });
        expect(result.errors).to.equal(undefined);
        expect(result.valid).to.equal(true);
      });

      it('contains all components to which it refers', () => {
        const held = [
          ...Object.keys(document.components.schemas).map((each) => `#/components/schemas/${each}`),
          ...Object.keys(document.components.responses).map((each) => `#/components/responses/${each}`),
        ];
        expect(referencesIn(document)).not.to.have.length(0);
        expect(referencesIn(document).filter((reference) => !held.includes(reference))).to.deep.equal([]);
      });

      it('has unique operation ids, and a parameter for each variable of a path', () => {
        const ids = operationsOf(document).map(([, { operationId }]) => operationId);
        expect(ids.filter((id, index) => ids.indexOf(id) !== index || !/^[A-Za-z0-9_]+$/.test(id))).to.deep.equal([]);
        for (const [path, { parameters = [] }] of Object.entries(document.paths)) {
          const variables = [...path.matchAll(/\{([^}]+)\}/g)].map(([, variable]) => variable);
          expect(parameters.map((parameter) => parameter.name)).to.deep.equal(variables, path);
        }
      });
    });
  }

  it('are the same for the same models and endpoints in any order', async () => {
    const turned = { models: [...surface.models].reverse(), routes: [...routes].reverse() };
    const others = await documentsOf(turned);
    expect(JSON.stringify(others.whole)).to.equal(JSON.stringify(whole));
    expect(JSON.stringify([...others.parts])).to.equal(JSON.stringify([...parts]));
  });

  it('contain references in a cycle for a model that refers to itself', () => {
    const { schemas } = whole.components;
    const prefix = '#/components/schemas/com.example.people.v1alpha1';
    expect(schemas['com.example.people.v1alpha1.Person'])
      .to.have.nested.property('properties.spec')
      .that.deep.equals({
        $ref: `${prefix}.PersonSpec`,
      });
    expect(schemas['com.example.people.v1alpha1.PersonSpec'])
      .to.have.nested.property('properties.otherPerson')
      .that.deep.equals({ description: 'Another person', nullable: true, allOf: [{ $ref: `${prefix}.Person` }] });
  });

  it('name the kind in the schema of its objects, so that kubectl explain finds the schema', () => {
    expect(whole.components.schemas['com.example.people.v1alpha1.Person']).to.deep.include({
      'x-kubernetes-group-version-kind': [{ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' }],
    });
  });

  it('have the ten operations of a kind with status, each with its x-kubernetes-action; the PATCH of an object names the kind', () => {
    const actions = operationsOf(whole)
      .filter(([path]) => path.startsWith(`${people}/persons`))
      .map(([path, operation]) => `${operation['x-kubernetes-action']} ${path.slice(people.length)}`);
    expect(actions).to.have.members([
      'list /persons',
      'post /persons',
      'deletecollection /persons',
      'get /persons/{name}',
      'put /persons/{name}',
      'patch /persons/{name}',
      'delete /persons/{name}',
      'get /persons/{name}/status',
      'put /persons/{name}/status',
      'patch /persons/{name}/status',
    ]);
    const gvk = { group: 'people.example.com', version: 'v1alpha1', kind: 'Person' };
    expect(whole.paths[`${people}/persons/{name}`]?.patch?.['x-kubernetes-group-version-kind']).to.deep.equal(gvk);
  });

  it('have two paths for the list of a Namespaced kind: in all namespaces, with GET only, and in one namespace', () => {
    expect(Object.keys(whole.paths).filter((path) => path.endsWith('/machines'))).to.deep.equal([
      `${people}/machines`,
      `${people}/namespaces/{namespace}/machines`,
    ]);
    expect(whole.paths[`${people}/machines`]).to.have.all.keys('get');
  });

  it('have every parameter of a list, and name the indexed fields', () => {
    const list = whole.paths[`${people}/machines`]?.get;
    const selection = ['labelSelector', 'fieldSelector', 'sort', 'page', 'size', 'limit', 'continue'];
    const freshness = ['resourceVersion', 'resourceVersionMatch'];
    const watching = ['watch', 'allowWatchBookmarks', 'sendInitialEvents', 'timeoutSeconds'];
    const form = ['pretty', 'managedFields'];
    expect(parameterNames(list)).to.have.members([...selection, ...freshness, ...watching, ...form]);
    for (const name of ['fieldSelector', 'sort']) {
      const parameter = list?.parameters?.find((each) => each.name === name);
      expect(parameter?.description).to.match(/Fields: metadata\.name, .*, spec\.power\.$/);
    }
  });

  it('have PATCH with the parameters that kubectl requires before it writes, and with every kind of patch', () => {
    const patch = whole.paths[`${people}/persons/{name}`]?.patch;
    expect(parameterNames(patch)).to.include.members(['dryRun', 'fieldValidation', 'fieldManager', 'force']);
    expect(patch?.requestBody?.content).to.have.all.keys(
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/strategic-merge-patch+json',
      'application/apply-patch+yaml',
    );
  });

  it('have GET, PUT and PATCH of the scale subresource of a kind that declares this subresource', () => {
    const scales = Object.keys(whole.paths).filter((path) => path.endsWith('/scale'));
    expect(scales).to.deep.equal([`${people}/namespaces/{namespace}/machines/{name}/scale`]);
    const item = whole.paths[scales[0]!];
    const schema = { $ref: '#/components/schemas/autoscaling.v1.Scale' };
    for (const method of ['get', 'put', 'patch'] as const) {
      expect(item?.[method]).to.deep.include({
        'x-kubernetes-group-version-kind': { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      });
      expect(item?.[method]?.responses['200'])
        .to.have.nested.property('content.application/json.schema')
        .deep.equal(schema);
    }
    expect(item?.put?.requestBody?.content['application/json']?.schema).to.deep.equal(schema);
    expect(item?.patch?.requestBody?.content).to.not.have.property('application/apply-patch+yaml');
  });

  it('declare a Status as the response for errors', () => {
    const { responses } = whole.paths[`${people}/persons`]?.post ?? {};
    expect(responses).to.have.all.keys('201', '400', '409', '422', 'default');
    expect(responses?.['422']).to.deep.equal({ $ref: '#/components/responses/Invalid' });
    expect(whole.components.responses['Invalid'])
      .to.have.nested.property('content.application/json.schema')
      .that.deep.equals({ $ref: '#/components/schemas/meta.v1.Status' });
  });

  it('distinguish two schemas with the same name in two models', () => {
    const { schemas } = whole.components;
    const gv = 'com.example.people.v1alpha1';
    expect(schemas[`${gv}.Machine.Address`]).to.have.nested.property('properties.city');
    expect(schemas[`${gv}.MachineList.Address`]).to.have.nested.property('properties.street');
    expect(schemas[`${gv}.Machine-List`]).to.have.nested.property('properties.totalPages');
    expect(schemas[`${gv}.MachineList`]).not.to.have.nested.property('properties.totalPages');
  });
});
