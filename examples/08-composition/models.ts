import { conditionsSchema, defineModel } from 'homeostat';

const text = { type: 'string', maxLength: 200 } as const;
const region = { type: 'string', maxLength: 63, pattern: '^[a-z0-9-]+$' } as const;
const size = { type: 'string', enum: ['small', 'large'] } as const;
const status = { type: 'object', properties: { conditions: conditionsSchema } } as const;

/** An application that a team requests, with its network and database. */
export const Environment = defineModel({
  gvk: 'platform.example.com/v1alpha1/Environment',
  plural: 'environments',
  subresources: ['status'],
  printerColumns: [{ name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['region', 'image'],
        properties: { region, image: text, size: { ...size, default: 'small' } },
      },
      status,
    },
  },
});

export const Network = defineModel({
  gvk: 'platform.example.com/v1alpha1/Network',
  plural: 'networks',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', required: ['region'], properties: { region } }, status },
  },
});

export const Database = defineModel({
  gvk: 'platform.example.com/v1alpha1/Database',
  plural: 'databases',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['network', 'size'], properties: { network: text, size } },
      status: { type: 'object', properties: { host: text, conditions: conditionsSchema } },
    },
  },
});

export const Application = defineModel({
  gvk: 'platform.example.com/v1alpha1/Application',
  plural: 'applications',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['image', 'database'], properties: { image: text, database: text } },
      status,
    },
  },
});
