import { expect } from 'chai';
import * as homeostat from 'homeostat';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('The twenty names that suffice for most plugins', () => {
  const [head = ''] = read('plugins/host/index.ts').split('// The names that few plugins need');
  const exported = [...head.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');

  it('are the first exports of the package', () => {
    expect(exported).to.have.lengthOf(20);
    expect(exported.filter((name) => !(name in homeostat))).to.deep.equal([]);
  });

  it('are exactly the names in the table of the README', () => {
    const [, table = ''] = /^## Twenty names$([^]*?)^## /m.exec(read('README.md')) ?? [];
    const shown = [...table.matchAll(/`([A-Za-z]+)`/g)].map(([, name]) => name).filter((name) => name !== 'homeostat');
    expect(shown.toSorted()).to.deep.equal(exported.toSorted());
  });

  it('are the names in the comment at the beginning of the entry file', () => {
    const shown = [...head.matchAll(/\{@link (\w+)/g)].map(([, name = '']) => name);
    expect(shown.toSorted()).to.deep.equal(exported.toSorted());
  });
});
