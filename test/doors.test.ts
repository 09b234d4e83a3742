import { expect } from 'chai';
import { lintPlanted } from './support/planted-lint.ts';

const table = '.ci/doors.yaml';

const importing = (source: string): string => `import { planted } from '${source}';\n\nexport const kept = planted;\n`;

/** A table of one package, whose folders import the listed ones. */
function tableOf(rows: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(rows).map(
    ([row, imports]) => `  ${row}: { about: A row., imports: [${imports.join(', ')}] }`,
  );
  return `apiserver:\n${lines.join('\n')}\n`;
}

function refusal(from: string, target: string, circle: string): string {
  return `apiserver/${from} may not import ${target}, which imports it (${table}): ${circle}. One of these has to go.`;
}

describe('the table of imports', () => {
  it('refuses imports that no row lists, and says what the folder may import', async () => {
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
    expect(reported['apiserver/store/planted.ts']).to.match(/^apiserver\/store may not import decode\. It may import /);
    expect(reported['apiserver/registry/planted.ts']).to.match(/^apiserver\/registry may not import koa\./);
  });

  it('refuses a folder without a row, and leaves listed imports and tests alone [slow]', async () => {
    const reported = await lintPlanted('homeostat(doors)', {
      'apiserver/cellar/planted.ts': importing('../store/planted.ts'),
      'apiserver/registry/planted.ts': importing('../store/planted.ts'),
      'apiserver/store/planted.test.ts': importing('../decode/planted.ts'),
    });
    expect(Object.keys(reported)).to.deep.equal(['apiserver/cellar/planted.ts']);
    expect(reported['apiserver/cellar/planted.ts']).to.match(/^apiserver\/cellar has no row in \.ci\/doors\.yaml/);
  });

  it('refuses imports between folders that import each other, directly or through others [slow]', async () => {
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

  it('refuses cycles of nested folders, within one folder and between two [slow]', async () => {
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
