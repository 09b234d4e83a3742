import type { KindNames } from '../names/check-names.ts';
import { kebabCase } from '../names/names.ts';
import type { Files } from '../names/write-new-files.ts';

/** Returns the files of a kind and of its test. */
export function kindFiles(names: KindNames): Files {
  const file = kebabCase(names.kind);
  return { [`kinds/${file}.ts`]: kindModule(names), [`kinds/${file}.test.ts`]: kindTest(names.kind, file) };
}

function kindModule({ group, kind, plural }: KindNames): string {
  return `import { defineModel } from 'homeostat';

/** The desired state. */
const spec = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
  },
} as const;

/** The observations and results of the controller. */
const status = {
  type: 'object',
  properties: {
    greeting: { type: 'string' },
    observedGeneration: { type: 'integer' },
  },
} as const;

export const ${kind} = defineModel({
  gvk: '${group}/v1alpha1/${kind}',
  plural: '${plural}',
  singular: '${kind.toLowerCase()}',
  subresources: ['status'],
  schema: { type: 'object', required: ['spec'], properties: { spec, status } },
  indexes: ['spec.name'],
});
`;
}

function kindTest(kind: string, file: string): string {
  return `import assert from 'node:assert/strict';
import { isInvalid } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import { ${kind} } from './${file}.ts';

describe('${kind}', () => {
  it('is refused when spec.name is empty', async () => {
    const server = await startTestServer({
      models: [${kind}],
    });
    try {
      const refused = server.httpClient.create(${kind}, {
        metadata: { name: 'nobody' },
        spec: { name: '' },
      });
      await assert.rejects(refused, isInvalid);
    } finally {
      await server.stop();
    }
  });
});
`;
}
