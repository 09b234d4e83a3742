import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { lintPlanted, plant } from './support/lint/planted-lint.ts';

const table = '.ci/doors.yaml';

const importing = (source: string): string => `import { planted } from '${source}';\n\nexport const kept = planted;\n`;

/** Returns a table with one package. `rows` maps its folders to the folders that they may import. */
function tableOf(rows: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(rows).map(
    ([row, imports]) => `  ${row}: { about: A row., imports: [${imports.join(', ')}] }`,
  );
  return `apiserver:\n${lines.join('\n')}\n`;
}

function numbered(folder: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${folder}/planted-${index}.ts`);
}

/** Returns the problems that `npm run spec:check` reports for the table of imports, `<folder>/.ci/doors.yaml`. */
async function tableProblems(folder: string): Promise<unknown> {
  const module = pathToFileURL(join(folder, '.ci/doors.js')).href;
  const program = `import { tableProblems } from '${module}'; console.log(JSON.stringify(tableProblems('${folder}')));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  return JSON.parse(stdout);
}

function refusal(from: string, target: string, circle: string): string {
  return `apiserver/${from} may not import ${target}, which imports it (${table}): ${circle}. Remove one of these imports.`;
}

describe('the table of imports', () => {
  it('refuses imports that the row of the folder does not list, and names the permitted imports [slow]', async () => {
    const forbidden = {
      'apiserver/store/planted.ts': '../decode/planted.ts',
      'apiserver/store/sqlite/planted.ts': '../../decode/planted.ts',
      'apiserver/index/planted.ts': '../assets/planted.ts',
      'apiserver/registry/planted.ts': 'koa',
      'controller-runtime/telemetry/planted.ts': '../election/planted.ts',
      'controller-runtime/api/planted.ts': 'node:fs',
      'controller-runtime/queue/planted.ts': '@homeostat/apiserver',
    };
    const planted = Object.entries(forbidden).map(([path, source]) => [path, importing(source)]);
    const reported = await lintPlanted(
      'homeostat(doors)',
      Object.fromEntries(planted) as Readonly<Record<string, string>>,
    );
    expect(Object.keys(reported)).to.have.members(Object.keys(forbidden));
    expect(reported['apiserver/store/planted.ts']).to.match(/^apiserver\/store may not import decode, only /);
    expect(reported['apiserver/registry/planted.ts']).to.match(/^apiserver\/registry may not import koa, only /);
  });

  it('refuses unlisted imports also in type imports, re-exports, import() and worker files [slow]', async () => {
    const from = '../decode/planted.ts';
    const forbidden = {
      'apiserver/store/lazy.ts': `export const planted = import('${from}');\n`,
      'apiserver/store/reexport.ts': `export { planted } from '${from}';\n`,
      'apiserver/store/type.ts': `import type { Planted } from '${from}';\n\nexport type Kept = Planted;\n`,
      'apiserver/store/type-query.ts': `export type Kept = import('${from}').Planted;\n`,
      'apiserver/store/worker.ts': "export const planted = new URL('../decode/planted.js', import.meta.url);\n",
    };
    expect(Object.keys(await lintPlanted('homeostat(doors)', forbidden))).to.have.members(Object.keys(forbidden));
  });

  it('refuses a folder without a row, except in examples, and accepts listed imports and imports in test files [slow]', async () => {
    const importless = 'export const planted = true;\n';
    const reported = await lintPlanted('homeostat(doors)', {
      'apiserver/cellar/planted.ts': importing('../store/planted.ts'),
      'apiserver/loft/planted.ts': importless,
      'apiserver/loft/planted.test.ts': importless,
      'plugins/shed/planted.ts': importless,
      'apiserver/registry/planted.ts': importing('../index/planted.ts'),
      'apiserver/store/planted.test.ts': importing('../decode/planted.ts'),
      'examples/shed/planted.ts': importless,
      'test/support/shed/planted.ts': importless,
      'bench/cases/shed/planted.ts': importless,
    });
    const advice = 'has no row in .ci/doors.yaml: add one with the purpose of the folder and what it may import.';
    expect(reported).to.deep.equal({
      'apiserver/cellar/planted.ts': `apiserver/cellar ${advice}`,
      'apiserver/loft/planted.ts': `apiserver/loft ${advice}`,
      'plugins/shed/planted.ts': `plugins/shed ${advice}`,
      'test/support/shed/planted.ts': `test/support/shed ${advice}`,
      'bench/cases/shed/planted.ts': `bench/cases/shed ${advice}`,
    });
  });

  it('reports folders with too many files, rows without a folder, and listed imports that no file uses', async () => {
    const rows = {
      store: [],
      crowd: [],
      idle: ['store', "'node:'", 'koa'],
      gone: [],
      busy: ['store', "'node:'", 'koa'],
    };
    const crowdedFolders = ['apiserver/crowd', 'test/support', 'bench/cases', 'examples/shed'];
    const crowded = crowdedFolders.flatMap((name) => numbered(name, 26));
    const full = ['apiserver/store', 'test/support/full'].flatMap((name) => numbered(name, 25));
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'homeostat-doors-')));
    try {
      await plant(folder, {
        [table]: tableOf(rows),
        ...Object.fromEntries(full.map((path) => [path, ''])),
        'apiserver/store/planted.test.ts': '',
        ...Object.fromEntries(crowded.map((path) => [path, ''])),
        'apiserver/idle/planted.ts': importing('./other.ts'),
        'apiserver/idle/planted.test.ts': importing('../store/planted-1.ts'),
        'apiserver/busy/planted.ts': `${importing('../store/planted-1.ts')}${importing('node:fs')}${importing('koa')}`,
      });
      expect(await tableProblems(folder)).to.have.members([
        ...crowdedFolders.map((crowd) => `${crowd} has 26 source files; a folder may have 25: divide it`),
        ...['store', 'node:', 'koa'].map(
          (entry) => `${table}: no file of apiserver/idle imports ${entry}: remove ${entry} from the folder's row`,
        ),
        `${table}: there is no folder apiserver/gone`,
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('refuses cycles of imports between folders, direct or through other folders [slow]', async () => {
    const reported = await lintPlanted('homeostat(doors)', {
      [table]: tableOf({ low: [], high: ['low', 'top'], middle: ['low', 'high'], top: ['middle'] }),
      'apiserver/high/planted.ts': importing('../top/planted.ts'),
      'apiserver/middle/planted.ts': importing('../high/planted.ts'),
      'apiserver/top/planted.ts': importing('../middle/planted.ts'),
      'apiserver/high/harmless.ts': importing('../low/planted.ts'),
    });
    expect(reported).to.deep.equal({
      'apiserver/high/planted.ts': refusal('high', 'top', 'high → top → middle → high'),
      'apiserver/middle/planted.ts': refusal('middle', 'high', 'middle → high → top → middle'),
      'apiserver/top/planted.ts': refusal('top', 'middle', 'top → middle → high → top'),
    });
  });

  it('refuses cycles of imports between nested folders, within one parent folder or across two [slow]', async () => {
    const reported = await lintPlanted('homeostat(doors)', {
      [table]: tableOf({
        'low/a': ['low/b'],
        'low/b': ['low/a', 'high/a'],
        'high/a': [],
        'high/b': ['high/a', "'low/*'"],
        high: ['high/b'],
      }),
      'apiserver/low/a/planted.ts': importing('../b/planted.ts'),
      'apiserver/low/b/planted.ts': importing('../../high/a/planted.ts'),
      'apiserver/high/b/planted.ts': importing('../../low/a/planted.ts'),
      'apiserver/high/harmless.ts': importing('./b/planted.ts'),
      'apiserver/high/b/harmless.ts': importing('../a/planted.ts'),
    });
    expect(reported).to.deep.equal({
      'apiserver/low/a/planted.ts': refusal('low/a', 'low/b', 'low/a → low/b → low/a'),
      'apiserver/low/b/planted.ts': refusal('low/b', 'high/a', 'low → high → low'),
      'apiserver/high/b/planted.ts': refusal('high/b', 'low/a', 'high → low → high'),
    });
  });
});
