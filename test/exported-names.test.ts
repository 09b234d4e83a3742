import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const packages = [
  'controller-runtime',
  'apiserver',
  'plugins/host',
  'plugins/create-homeostat',
  'plugins/console',
  'test',
  'bench',
];
const notSource = /\/(dist|node_modules)\/|\.d\.ts$|\.(test|contract|fixture|test-support)\.tsx?$|(^|\/)index\.ts$/;
const declared = /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|enum) (\w+)/gm;

/**
 * Matches the files of the database engines. Two engines may export the same name, because each has the same operations
 * in its own dialect.
 */
const engine = /\/store\/(?:etcd|mysql|postgres|sqlite)\//;

/**
 * Matches the files of an engine that have SQL statements. Such a file may export the same name as another file of the
 * engine: a statement may have the name of the function that runs it.
 */
const statements = /-(?:statements|tables)\.ts$/;

/** Names that several files may export: tests with their own kind call it Person, as the book does. */
const sameMeaning: readonly string[] = ['Person'];

/**
 * Returns true if the files may all export the same name: all of them belong to database engines, and at most one file
 * of each engine has no SQL statements.
 */
function meanOne(files: readonly string[]): boolean {
  if (!files.every((file) => engine.test(file))) return false;
  const folders = files.filter((file) => !statements.test(file)).map((file) => dirname(file));
  return new Set(folders).size === folders.length;
}

describe('exported names', () => {
  for (const name of packages) {
    it(`are exported by only one file in ${name}, except names that have one meaning in all files`, () => {
      const places = new Map<string, string[]>();
      for (const path of sourcesOf(name)) {
        for (const [, exported = ''] of readFileSync(join(root, path), 'utf8').matchAll(declared))
          places.set(exported, [...(places.get(exported) ?? []), path]);
      }
      expect(places.size).to.be.greaterThan(10);
      const twice = [...places]
        .map(([exported, files]) => [exported, [...new Set(files)]] as const)
        .filter(([exported, files]) => files.length > 1 && !sameMeaning.includes(exported) && !meanOne(files));
      expect(Object.fromEntries(twice)).to.deep.equal({});
    });
  }
});

describe('types with a name like XOptions', () => {
  it('have at least one optional member, unless the type is public', () => {
    const reports = join(root, 'docs/api');
    const isPublic = new Set(
      readdirSync(reports).flatMap((file) => wordsOf(readFileSync(join(reports, file), 'utf8'))),
    );
    const declaration = /^(?:export )?interface (\w+Options)(?:<.*>)? \{\n([^]*?)^\}/gm;
    const found = packages.flatMap((name) =>
      sourcesOf(name).flatMap((path) => [...readFileSync(join(root, path), 'utf8').matchAll(declaration)]),
    );
    expect(found).to.have.length.greaterThan(30);
    const needed = found.filter(
      ([, name = '', members = '']) => !isPublic.has(name) && !/^ {2}(?:readonly )?\w+\?/m.test(members),
    );
    // A type with only required members must not be named `XOptions`, but `XParts` (CONTRIBUTING.md): it has the
    // collaborators of X, not the settings.
    expect(needed.map(([, name]) => name)).to.deep.equal([]);
  });
});

function wordsOf(text: string): readonly string[] {
  return text.match(/\w+/g) ?? [];
}

/** Returns the source files of a package, without tests, fixtures, declarations and index files. */
function sourcesOf(name: string): readonly string[] {
  return readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
    .map((path) => `${name}/${path}`)
    .filter((path) => /\.tsx?$/.test(path) && !notSource.test(path));
}
