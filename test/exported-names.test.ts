import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const packages = ['controller-runtime', 'apiserver', 'plugins/host', 'plugins/create-homeostat'];
const notSource = /\/(dist|node_modules)\/|\.(test|contract|fixture|test-support)\.ts$|(^|\/)index\.ts$/;
const declared = /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|enum) (\w+)/gm;

/**
 * The folders of the database engines may export equal names, because each has the same statements in its own SQL
 * dialect.
 */
const dialects = /\/store\/(etcd|mysql|postgres|sqlite)\//;

/**
 * Names that several files may export, because they have one meaning: a Draft is the object that a write proposes, in
 * the registry and in admission hooks of plugins.
 */
const sameMeaning: readonly string[] = ['Draft'];

describe('exported names', () => {
  for (const name of packages) {
    it(`are exported by only one file in ${name}`, () => {
      const places = new Map<string, string[]>();
      const paths = readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map(
        (path) => `${name}/${path}`,
      );
      for (const path of paths.filter(
        (each) => each.endsWith('.ts') && !notSource.test(each) && !dialects.test(each),
      )) {
        for (const [, exported = ''] of readFileSync(join(root, path), 'utf8').matchAll(declared))
          places.set(exported, [...(places.get(exported) ?? []), path]);
      }
      expect(places.size).to.be.greaterThan(10);
      const twice = [...places].filter(
        ([exported, files]) => new Set(files).size > 1 && !sameMeaning.includes(exported),
      );
      expect(Object.fromEntries(twice)).to.deep.equal({});
    });
  }
});
