import { AbstractExtension, defineModel, GVK, Schema } from '@homeostat/controller-runtime/api';
import type { Model, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { EndpointRoute } from '../endpoints/serving/endpoint-route.ts';
import { OpenApiDocuments } from './open-api-documents.ts';
import type { ApiSurface } from './api-surface.ts';
import type { OpenApiDocument } from './open-api.ts';
import { SchemeManager } from '../registry/kinds/scheme-manager.ts';

/** The kind that the specification uses as an example. Its schema refers to itself. */
@GVK({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
export class Person extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
}

@Schema({ name: 'PersonSpec' })
export class PersonSpec {
  @Schema({ requireMode: 'REQUIRED', type: 'string', maxLength: 100, description: 'Full name' }) name!: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: 'MALE' | 'FEMALE';
  @Schema({ type: () => Person, nullable: true, description: 'Another person' }) otherPerson?: Person | null;
}

/**
 * A kind without a `spec`: as in revision 2.9 of the specification, its fields are on the class itself. It has the kind
 * and plural of {@link Person}, in another group.
 */
@GVK({ group: 'old-people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons' })
class FlatPerson extends AbstractExtension {
  @Schema({ type: 'string', maxLength: 100 }) name?: string;
  @Schema({ type: () => FlatPerson }) otherPerson?: FlatPerson;
}

/** A Namespaced kind with a status, and with schemas in the forms that libraries generate. */
const machine: ModelDescriptor = defineModel({
  gvk: 'people.example.com/v1alpha1/Machine',
  plural: 'machines',
  scope: 'Namespaced',
  subresources: ['status'],
  scale: { specReplicasPath: '.spec.power', statusReplicasPath: '.status.running' },
  indexes: ['spec.power'],
  schema: {
    type: 'object',
    $defs: { 'odd name/%': { type: 'string' }, Address: { type: 'object', properties: { city: { type: 'string' } } } },
    properties: {
      spec: {
        type: 'object',
        additionalProperties: false,
        properties: {
          power: { type: 'integer', exclusiveMinimum: 0, maximum: 10, exclusiveMaximum: true, default: 5 },
          load: { type: 'number', minimum: 3, exclusiveMinimum: 1, multipleOf: 0.5 },
          mode: { anyOf: [{ const: 'on' }, { const: 'off' }, { type: 'null' }] },
          shape: {
            oneOf: [
              { type: 'object', properties: { kind: { const: 'round' } }, required: ['kind'] },
              { type: 'object', properties: { kind: { const: 'square' } }, required: ['kind'] },
            ],
          },
          port: { 'x-kubernetes-int-or-string': true },
          code: { type: 'string', pattern: '^(?i)[a-z]+$' },
          plate: { type: 'string', pattern: '^[A-Z]{2}$', format: 'plate' },
          parts: { type: 'object', patternProperties: { '^.*$': { type: ['integer', 'null'] } } },
          address: { $ref: '#/$defs/Address', description: 'Where it stands' },
          anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, maxItems: 5 },
          nothing: { not: { type: 'string' } },
        },
      },
      status: { type: 'object', properties: { running: { type: 'boolean', nullable: true } } },
    },
  },
});

/**
 * A kind named MachineList, like the list of the kind Machine. One of its schemas has the name of a schema of Machine.
 */
const machineList: ModelDescriptor = defineModel({
  gvk: 'people.example.com/v1alpha1/MachineList',
  plural: 'machine-lists',
  schema: {
    type: 'object',
    $defs: { Address: { type: 'object', properties: { street: { type: 'string' } } } },
    properties: { spec: { type: 'object', properties: { address: { $ref: '#/$defs/Address' } } } },
  },
});

/** A kind of the core group. */
const token: ModelDescriptor = defineModel({
  gvk: 'v1/Token',
  plural: 'tokens',
  schema: { type: 'object', properties: { data: { type: 'object', additionalProperties: { type: 'string' } } } },
});

const all: readonly Model[] = [Person, FlatPerson, machine, machineList, token];

/** Registers models of all forms, and returns their descriptors. */
export function servedModels(): readonly ModelDescriptor[] {
  const schemes = new SchemeManager({ serviceDomain: 'homeostat.internal' });
  return all.map((model) => schemes.register(model).descriptor);
}

export const routes: readonly EndpointRoute[] = [
  {
    method: 'GET',
    path: '/apis/api.people.example.com/v1alpha1/persons/{name}/greeting',
    owner: 'people',
    summary: 'Greets a person',
    query: { loud: { type: 'boolean' }, odd: { const: 3 } },
    response: { type: 'object', properties: { text: { type: 'string' } } },
  },
  {
    method: 'post',
    path: '/apis/api.people.example.com/v1alpha1/persons/{who}/greeting',
    owner: 'people',
    body: { type: 'object', required: ['text'], properties: { text: { type: 'string', nullable: true } } },
  },
  { method: 'GET', path: '/apis/plugin.api.homeostat.internal/v1alpha1/plugins/old/apples/starting', owner: 'old' },
  { method: 'DELETE', path: '/apis/plugin.api.homeostat.internal/v1alpha1/plugins/old/apples/starting', owner: 'old' },
];

/** Returns all documents of a surface, as clients receive them. */
export async function documentsOf(surface: ApiSurface): Promise<{
  readonly whole: OpenApiDocument;
  readonly swagger: Readonly<Record<string, unknown>>;
  /** The documents of group versions, by their paths in the document `/openapi/v3`. */
  readonly parts: ReadonlyMap<string, OpenApiDocument>;
}> {
  const documents = new OpenApiDocuments({ surface: () => surface, version: '1' });
  const read = async (path: string): Promise<unknown> =>
    JSON.parse(String(await (await documents.find(path))?.bytes())) as unknown;
  const { paths } = (await read('/openapi/v3')) as { readonly paths: object };
  const parts = new Map<string, OpenApiDocument>();
  for (const name of Object.keys(paths)) parts.set(name, (await read(`/openapi/v3/${name}`)) as OpenApiDocument);
  return {
    whole: (await read('/openapi.json')) as OpenApiDocument,
    swagger: (await read('/openapi/v2')) as Readonly<Record<string, unknown>>,
    parts,
  };
}
