import { eventually } from '@homeostat/controller-runtime/testing';
import type { TestServer } from '../servers/test-server.ts';

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const widgets = '/apis/shop.example.com/v1/widgets';
export const widgetDefinitionName = 'widgets.shop.example.com';
export const widgetDefinitionPath = `${definitions}/${widgetDefinitionName}`;

const spec = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1 },
    color: { type: 'string', default: 'red' },
    port: { 'x-kubernetes-int-or-string': true },
    extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    replicas: { type: 'integer' },
  },
};

const status = {
  type: 'object',
  properties: { phase: { type: 'string' }, replicas: { type: 'integer' }, selector: { type: 'string' } },
};

/** Returns version v1 of a definition of Widget; `changes` replace its fields. */
export function widgetVersion(changes: object = {}): object {
  return {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec, status } } },
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
    selectableFields: [{ jsonPath: '.spec.color' }],
    ...changes,
  };
}

/** Returns a definition of Widget; `changes` replace fields of its spec. */
export function widgetDefinition(changes: object = {}): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: widgetDefinitionName },
    spec: {
      group: 'shop.example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      versions: [widgetVersion()],
      ...changes,
    },
  };
}

export function newWidget(name: string, fields: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'shop.example.com/v1',
    kind: 'Widget',
    metadata: { name, ...metadata },
    spec: { size: 3, ...fields },
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Returns a condition of a definition; undefined when it is not set yet. */
export async function conditionOf(server: TestServer, name: string, type: string): Promise<Condition | undefined> {
  const { body } = await server.get(`${definitions}/${name}`);
  const conditions = (body.status?.conditions ?? []) as readonly Condition[];
  return conditions.find((condition) => condition.type === type);
}

/** Creates a definition, and waits until its kind is served. */
export async function establish(server: TestServer, definition: object = widgetDefinition()): Promise<void> {
  const { metadata } = await server.create(definitions, definition);
  await established(server, (metadata as { name: string }).name);
}

/** Waits until the kind of a definition is served. */
export async function established(server: TestServer, name: string): Promise<void> {
  await eventually(async () => (await conditionOf(server, name, 'Established'))?.status === 'True');
}
