import { controller, defineModel, definePlugin } from 'homeostat';
import type { Plugin } from 'homeostat';
import { conditionsSchema } from '@homeostat/controller-runtime/api';

/** The name of the kind Orchard in the URLs of the console. */
export const orchardsPath = 'orchards.orchards.example.com';

export const Orchard = defineModel({
  gvk: 'orchards.example.com/v1/Orchard',
  plural: 'orchards',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', properties: { trees: { type: 'integer', minimum: 0 }, isSick: { type: 'boolean' } } },
      status: {
        type: 'object',
        properties: { planted: { type: 'integer' }, conditions: conditionsSchema },
      },
    },
  },
} as const);

const Tree = defineModel({
  gvk: 'orchards.example.com/v1/Tree',
  plural: 'trees',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { number: { type: 'integer' } } } } },
} as const);

/** Creates the trees of each orchard, and writes its status with a condition. Then it fails for a sick orchard. */
const gardener = controller(Orchard, {
  name: 'gardener',
  owns: [Tree],
  async reconcile({ object, ensure, status, condition }) {
    const { trees = 0, isSick = false } = object.spec;
    for (let number = 0; number < trees; number += 1)
      await ensure(Tree, `${object.metadata.name}-${number}`, { spec: { number } });
    condition('Ready', isSick ? 'False' : 'True', { reason: isSick ? 'Sick' : 'Planted', message: 'as it is' });
    await status({ planted: trees });
    if (isSick) throw new Error('leaves are brown');
  },
});

export const Press = defineModel({
  gvk: 'orchards.example.com/v1/Press',
  plural: 'presses',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } },
} as const);

/** Gives up on each press after one retry, and never finishes the cleanup of a deleted press. */
const presser = controller(Press, {
  name: 'presser',
  retryLimit: 1,
  async reconcile() {
    throw new Error('the <b>screw</b> is stuck');
  },
  cleanup: async () => ({ requeueAfter: 3_600_000 }),
});

/** Returns a plugin with two controllers: the gardener writes dependents and status, the presser gives up. */
export const treePlugin = (): Plugin =>
  definePlugin({ models: [Orchard, Tree, Press], controllers: [gardener, presser] });
