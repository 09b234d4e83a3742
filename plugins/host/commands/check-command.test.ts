import { expect } from 'chai';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { runCommand } from './run-command.fixture.ts';

const main = `
import { defineModel } from '${new URL('../index.js', import.meta.url).href}';
const properties = { spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } } };
const Widget = defineModel({ gvk: 'widgets.example.com/v1/Widget', plural: 'widgets', schema: { type: 'object', properties } });
export default { models: [Widget] };
`;
const declared = (size: number): string =>
  `apiVersion: widgets.example.com/v1\nkind: Widget\nmetadata: { name: a }\nspec: { size: ${size} }\n`;

describe('homeostat check [spec experience-check]', () => {
  afterEach(removeFolders);

  const file = 'resources/extensions/widgets.yaml';

  it('reports that a plugin is correct', async () => {
    const folder = await makePlugin('widgets', main, { [file]: declared(1) });
    expect(await runCommand(['check', folder])).to.deep.equal({
      code: 0,
      stdout: 'widgets 1.0.0: manifest, models and declared objects are right\n',
      stderr: '',
    });
  });

  it('names each mistake of the manifest, of the module, and of declared objects', async () => {
    const told = async (folder: string): Promise<string> => {
      const { code, stderr } = await runCommand(['check', folder]);
      expect(code).to.equal(1);
      return stderr;
    };
    const manifest = 'nmae: x\nname: widgets\nversion: one\n';
    const wrong = await makePlugin('widgets', '', { 'plugin.yaml': manifest });
    expect(await told(wrong)).to.match(
      /plugin\.yaml:1: unknown key "nmae".*\n.*plugin\.yaml:3: version: must be a version/,
    );
    expect(await told(await makePlugin('widgets', 'export default 3;'))).to.include('a plugin is a class');
    const object = await makePlugin('widgets', main, { [file]: declared(0) });
    expect(await told(object))
      .to.include(`${file}: document 1, line 4`)
      .and.include('spec.size');
    expect(await told('/none')).to.equal('/none: there is no such folder\n');
  });

  it('accepts declared objects whose kinds belong to a plugin that --with names', async () => {
    const widgets = await makePlugin('widgets', main);
    const user = await makePlugin('user', 'export default {};', { [file]: declared(1) });
    expect((await runCommand(['check', user])).code).to.equal(1);
    expect(await runCommand(['check', user, '--with', widgets])).to.include({ code: 0, stderr: '' });
  });
});
