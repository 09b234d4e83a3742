import { camelCase } from '../names/names.ts';
import type { Files } from '../names/write-new-files.ts';

export interface EndpointNames {
  readonly name: string;
  /** The plugin's group. */
  readonly group: string;
}

/** Returns the files of a router with one path, and of its test. */
export function endpointFiles(names: EndpointNames): Files {
  return {
    [`endpoints/${names.name}.ts`]: endpointModule(names),
    [`endpoints/${names.name}.test.ts`]: endpointTest(names),
  };
}

export function endpointVariable(name: string): string {
  return `${camelCase(name)}Routes`;
}

function endpointModule({ name, group }: EndpointNames): string {
  return `import { publicGroup, route, ServerResponse } from 'homeostat';

const router = route(\`\${publicGroup('${group}')}/v1alpha1\`);

router.GET('/${name}', () => ServerResponse.ok().json({ message: 'Hello' }));

/** Served at /apis/api.${group}/v1alpha1/${name}, and documented at /docs. */
export const ${endpointVariable(name)} = router.build();
`;
}

function endpointTest({ name, group }: EndpointNames): string {
  const variable = endpointVariable(name);
  return `import assert from 'node:assert/strict';
import { definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import { ${variable} } from './${name}.ts';

const path = '/apis/api.${group}/v1alpha1/${name}';

describe('${variable}', () => {
  it('says hello', async () => {
    const plugin = definePlugin({
      endpoints: [${variable}],
    });
    const server = await startTestServer({ plugins: [plugin] });
    try {
      const response = await fetch(\`\${server.url}\${path}\`);
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), { message: 'Hello' });
    } finally {
      await server.stop();
    }
  });
});
`;
}
