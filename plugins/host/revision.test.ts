import { expect } from 'chai';
import { makePlugin, removeFolders } from './package/plugin-folder.fixture.ts';
import { startTestServer } from './testing/index.ts';
import { flatModel, wrappedModel } from './thing-models.fixture.ts';

const models = new URL('./thing-models.fixture.js', import.meta.url).href;

describe('the revision of a plugin', () => {
  afterEach(removeFolders);

  for (const [revision, versionKey] of [
    ['2.15', 'apiVersion'],
    ['2.9', 'groupVersion'],
  ] as const) {
    it(`${revision}: a declared object has its group and version in ${versionKey}; indexes work on top-level and on spec fields`, async () => {
      const main = `import { flatModel, wrappedModel } from '${models}';
export default { models: [flatModel(), wrappedModel()] };`;
      const folder = await makePlugin('things', main, {
        'plugin.yaml': `name: things\nversion: 1.0.0\nrevision: '${revision}'\n`,
        'resources/extensions/all.yaml': `
${versionKey}: things.example.com/v1
kind: Flat
metadata: { name: a }
code: x
---
${versionKey}: things.example.com/v1
kind: Wrapped
metadata: { name: b }
spec: { code: y }
`,
      });
      const server = await startTestServer({ plugins: [folder] });
      try {
        const flat = await server.httpClient.list(flatModel(), { fieldSelector: 'code=x', sort: 'code,desc' });
        expect(flat.items.map(({ metadata, code }) => [metadata.name, code])).to.deep.equal([['a', 'x']]);
        const wrapped = await server.httpClient.list(wrappedModel(), { fieldSelector: 'spec.code=y' });
        expect(wrapped.items.map(({ metadata }) => metadata.name)).to.deep.equal(['b']);
      } finally {
        await server.stop();
      }
    });
  }
});
