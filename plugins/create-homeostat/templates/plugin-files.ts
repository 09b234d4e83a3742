import type { KindNames } from '../names/check-names.ts';
import { kebabCase } from '../names/names.ts';
import { markerOf } from '../names/part-type.ts';
import type { Files } from '../names/write-new-files.ts';

export interface PluginNames extends KindNames {
  readonly name: string;
  /** The version of homeostat. */
  readonly version: string;
}

/** The tools of a new plugin: the same versions that build and test this repository. */
export const tools: Readonly<Record<string, string>> = {
  '@types/mocha': '10.0.10',
  '@types/node': '20.19.43',
  mocha: '12.0.3',
  oxlint: '1.89.0',
  'oxlint-tsgolint': '7.0.2004',
  prettier: '3.10.1',
  typescript: '7.0.2',
};

/** Returns the files of a plugin, without those of its kinds, controllers and endpoints. */
export function pluginFiles(names: PluginNames): Files {
  return {
    'package.json': packageJson(names),
    'plugin.yaml': manifest(names),
    'tsconfig.json': tsconfig,
    '.oxlintrc.json': lintConfig,
    '.gitignore': 'node_modules/\ndist/\ndata/\n',
    'README.md': readme(names),
    'index.ts': index,
    'index.test.ts': indexTest(names),
    [`resources/extensions/${names.plural}.yaml`]: declaredObject(names),
  };
}

function packageJson({ name, version }: PluginNames): string {
  const content = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    // Without this list, the package would lack every file that .gitignore excludes, such as all of dist/.
    files: ['dist', '!dist/**/*.test.*', 'plugin.yaml', 'resources'],
    scripts: {
      dev: 'homeostat dev',
      build: 'tsc',
      start: 'npm run build && homeostat serve --plugin .',
      test: 'npm run build && mocha',
      lint: 'oxlint && prettier --check .',
      format: 'prettier --write .',
    },
    dependencies: { homeostat: `^${version}` },
    devDependencies: tools,
    // npm runs install scripts of better-sqlite3 only: they fetch SQLite, or build it.
    allowScripts: { 'better-sqlite3': true },
    // Each test file starts a server, which takes longer than mocha's default of two seconds on a busy machine.
    mocha: { spec: 'dist/**/*.test.js', timeout: 20_000 },
    prettier: { printWidth: 120, singleQuote: true },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function manifest({ name, version, group }: PluginNames): string {
  return `# yaml-language-server: $schema=node_modules/homeostat/schemas/plugin.schema.json
name: ${name}
version: 0.1.0
requires: ^${version}
group: ${group}
# With these rules, users with the role view may read the objects of this plugin; users with the role edit or admin may
# read and write them.
roles:
  - name: view
    aggregateTo: [view]
    rules:
      - { apiGroups: [${group}], resources: ['*'], verbs: [get, list, watch] }
  - name: edit
    aggregateTo: [edit]
    rules:
      - { apiGroups: [${group}], resources: ['*'], verbs: [create, update, patch, delete, deletecollection] }
`;
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2023", "esnext.decorators"],
    "module": "nodenext",
    "types": ["node", "mocha"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "rewriteRelativeImportExtensions": true,
    "skipLibCheck": true,
    "sourceMap": true,
    "rootDir": ".",
    "outDir": "dist"
  },
  "include": ["**/*.ts"],
  "exclude": ["dist", "node_modules"]
}
`;

const lintConfig = `{
  "$schema": "./node_modules/oxlint/configuration_schema.json",
  "plugins": ["eslint", "typescript", "unicorn", "oxc", "import"],
  "options": { "typeAware": true, "denyWarnings": true },
  "categories": { "correctness": "error" },
  "rules": { "typescript/no-floating-promises": "error" },
  "env": { "node": true, "mocha": true },
  "ignorePatterns": ["dist/**"]
}
`;

const index = `import { definePlugin } from 'homeostat';

// \`npx homeostat new kind|controller|endpoint <name>\` adds parts to these lists, above the comments.
export default definePlugin({
  models: [
    ${markerOf('kind')}
  ],
  controllers: [
    ${markerOf('controller')}
  ],
  endpoints: [
    ${markerOf('endpoint')}
  ],
});
`;

function indexTest({ kind }: PluginNames): string {
  return `import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'homeostat/testing';
import { ${kind} } from './kinds/${kebabCase(kind)}.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

describe('the plugin', () => {
  it('creates the object that its files declare, and greets it', async () => {
    const server = await startTestServer({ plugins: [folder] });
    try {
      await server.settle();
      const { status } = await server.client.get(${kind}, 'world');
      assert.equal(status?.greeting, 'Hello World');
    } finally {
      await server.stop();
    }
  });
});
`;
}

function declaredObject({ group, kind }: PluginNames): string {
  return `# The host applies these objects at every start of the plugin, and keeps the fields that users have changed.
apiVersion: ${group}/v1alpha1
kind: ${kind}
metadata:
  name: world
spec:
  name: World
`;
}

function readme({ name, group, kind, plural }: PluginNames): string {
  const file = kebabCase(kind);
  return `# ${name}

A plugin of Homeostat: the kind \`${kind}\` of \`${group}\`, and a controller that greets.

\`\`\`sh
npm run dev     # serves the plugin on http://127.0.0.1:8700, and reloads it when a file changes
npm test        # builds the plugin, and runs each test against a server of its own
npm run lint    # lint rules and format; npm run format repairs the format
npm start       # builds, and serves the plugin; requests then need the token of data/admin.kubeconfig
\`\`\`

While \`npm run dev\` serves it:

\`\`\`sh
api=http://127.0.0.1:8700/apis/${group}/v1alpha1/${plural}
curl $api/world                   # status.greeting: Hello World
curl -X POST $api -H 'Content-Type: application/yaml' --data-binary '
apiVersion: ${group}/v1alpha1
kind: ${kind}
metadata: { name: ada }
spec: { name: Ada }'
curl $api/ada
\`\`\`

- \`kinds/${file}.ts\` defines the fields of ${kind}, and \`controllers/${file}.ts\` reconciles ${kind} objects.
- \`resources/extensions\` has the objects that the host creates when the plugin starts.
- \`npx homeostat new kind|controller|endpoint <name>\` adds a part with its test, and registers it in \`index.ts\`.
`;
}
