import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';

const root = resolve(import.meta.dirname, '../..');
const rule = 'typescript/no-unsafe-type-assertion';

interface Override {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

describe('the list of files that may cast', () => {
  it('names only files that have a cast', () => {
    const text = readFileSync(join(root, '.oxlintrc.json'), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '');
    const { overrides } = JSON.parse(text) as { readonly overrides: readonly Override[] };
    const listed = overrides.filter(({ files, rules }) => rules[rule] === 'off' && !files.includes('test/**'));
    const patterns = listed.flatMap(({ files }) => files);
    expect(patterns).to.have.length.greaterThan(20);
    for (const pattern of patterns) {
      const files = namesIn(pattern);
      for (const file of files) expect(readFileSync(join(root, file), 'utf8'), file).to.match(/ as (?!const\b)/);
    }
  });
});

/** Returns the file names of a pattern: two for `a/{b,c}.ts`. */
function namesIn(pattern: string): readonly string[] {
  const [, before, names = '', after] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return before === undefined ? [pattern] : names.split(',').map((name) => `${before}${name}${after}`);
}
