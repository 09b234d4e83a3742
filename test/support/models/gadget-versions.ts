import { defineModel, defineVersions } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

const text = { type: 'string' } as const;

const group = 'shop.example.com';

/** The version v2, in which a size is a number, and its unit is another field. */
export const gadgetV2 = defineModel({
  gvk: `${group}/v2/Gadget`,
  plural: 'gadgets',
  subresources: ['status'],
  printerColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: {
          size: { type: 'integer', maximum: 100 },
          unit: { ...text, default: 'mm' },
          code: text,
          replicas: { type: 'integer' },
        },
      },
      status: { type: 'object', properties: { phase: text, replicas: { type: 'integer' } } },
    },
  } as const,
  indexes: [{ path: 'spec.size' }, { path: 'spec.code', unique: true }],
});

/** The version v1, in which a size is a text such as `3 cm`, and the phase has the name `state`. */
export const gadgetV1 = defineModel({
  gvk: `${group}/v1/Gadget`,
  plural: 'gadgets',
  subresources: ['status'],
  deprecated: true,
  printerColumns: [{ name: 'Extent', type: 'string', jsonPath: '.spec.extent' }],
  scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' },
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['extent'],
        properties: { extent: text, code: text, count: { type: 'integer' }, colour: { ...text, default: 'red' } },
      },
      status: { type: 'object', properties: { state: text, count: { type: 'integer' } } },
    },
  } as const,
});

/** The annotation that keeps the colour of a v1 object, because v2 has no field for it. */
const colourKey = 'shop.example.com/colour';

/**
 * A kind with two versions, which is stored as v2. An object with the code `odd` cannot be converted to v1, and an
 * extent without a number cannot be converted to v2.
 */
export const gadget: ModelDescriptor = defineVersions(gadgetV2, [
  {
    model: gadgetV1,
    toStorage({ metadata, spec, status }) {
      const [size = '', unit = 'mm'] = (spec?.extent ?? '').split(' ');
      if (!/^\d+$/.test(size)) throw new Error(`"${size}" is not a size`);
      return {
        metadata: { ...metadata, annotations: { ...metadata.annotations, [colourKey]: spec?.colour ?? '' } },
        spec: { size: Number(size), unit, ...some('code', spec?.code), ...some('replicas', spec?.count) },
        ...some('status', status && { ...some('phase', status.state), ...some('replicas', status.count) }),
      };
    },
    fromStorage({ metadata, spec, status }) {
      if (spec?.code === 'odd') throw new Error('an object with the code "odd" has no extent');
      const { [colourKey]: colour, ...annotations } = metadata.annotations ?? {};
      return {
        metadata: { ...metadata, annotations },
        spec: {
          extent: `${spec?.size} ${spec?.unit}`,
          ...some('code', spec?.code),
          ...some('count', spec?.replicas),
          ...some('colour', colour),
        },
        ...some('status', status && { ...some('state', status.phase), ...some('count', status.replicas) }),
      };
    },
  },
]);

function some<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}

export const gadgetsV1 = `/apis/${group}/v1/gadgets`;
export const gadgetsV2 = `/apis/${group}/v2/gadgets`;

export function newGadgetV1(name: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: `${group}/v1`,
    kind: 'Gadget',
    metadata: { name, ...metadata },
    spec: { extent: '3 cm', ...spec },
  };
}

export function newGadgetV2(name: string, spec: object = {}, metadata: object = {}, version = 'v2'): object {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Gadget',
    metadata: { name, ...metadata },
    spec: { size: 3, ...spec },
  };
}
