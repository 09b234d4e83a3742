import { camelCase, kebabCase } from '../names/names.ts';
import type { Files } from '../names/write-new-files.ts';

export interface ControllerNames {
  /** The controller's name. */
  readonly name: string;
  /** The kind that the controller reconciles. */
  readonly kind: string;
}

/** Returns the files of a controller, which writes a greeting with `spec.name` to the status, and of its test. */
export function controllerFiles({ name, kind }: ControllerNames): Files {
  const names = { name, kind, variable: controllerVariable(name), kindFile: kebabCase(kind) };
  return {
    [`controllers/${name}.ts`]: controllerModule(names),
    [`controllers/${name}.test.ts`]: controllerTest(names),
  };
}

export function controllerVariable(name: string): string {
  return `${camelCase(name)}Controller`;
}

interface Names extends ControllerNames {
  readonly variable: string;
  readonly kindFile: string;
}

function controllerModule({ name, kind, variable, kindFile }: Names): string {
  return `import { controller } from 'homeostat';
import { ${kind} } from '../kinds/${kindFile}.ts';

/** Brings the actual state to the desired state. Runs after others create or change an object, and after an error. */
export const ${variable} = controller(${kind}, {
  name: '${name}',
  async reconcile({ object, status }) {
    await status({ greeting: \`Hello \${object.spec.name}\` });
  },
});
`;
}

function controllerTest({ name, kind, variable, kindFile }: Names): string {
  return `import assert from 'node:assert/strict';
import { checkConvergence, startTestServer } from 'homeostat/testing';
import { ${kind} } from '../kinds/${kindFile}.ts';
import { ${variable} } from './${name}.ts';

describe('${variable}', () => {
  it('greets by name, and again when the name changes', async () => {
    const server = await startTestServer({
      models: [${kind}],
      controllers: [${variable}],
    });
    const greeting = async () => {
      await server.settle();
      return (await server.client.get(${kind}, 'ada')).status?.greeting;
    };
    try {
      await server.client.create(${kind}, {
        metadata: { name: 'ada' },
        spec: { name: 'Ada' },
      });
      assert.equal(await greeting(), 'Hello Ada');
      await server.client.patch(${kind}, 'ada', {
        type: 'merge',
        patch: { spec: { name: 'Ada Lovelace' } },
      });
      assert.equal(await greeting(), 'Hello Ada Lovelace');
    } finally {
      await server.stop();
    }
  });

  it('reaches the same result despite injected faults', async () => {
    await checkConvergence({
      controllers: [${variable}],
      seeds: 20,
      async scenario({ client, settle }) {
        await client.create(${kind}, {
          metadata: { name: 'ada' },
          spec: { name: 'Ada' },
        });
        await settle();
        for (const name of ['Ada L.', 'Ada Lovelace']) {
          await client.patch(${kind}, 'ada', {
            type: 'merge',
            patch: { spec: { name } },
          });
        }
      },
    });
  });
});
`;
}
