import { expect } from 'chai';
import { checkRequires, parseManifest } from './manifest.ts';

describe('plugin.yaml', () => {
  it('needs a name and a version, and has defaults for the rest', () => {
    expect(parseManifest('name: people\nversion: 1.2.3\n')).to.deep.equal({
      name: 'people',
      version: '1.2.3',
      requires: '*',
      revision: '2.15',
      main: 'dist/index.js',
      dependencies: [],
    });
  });

  it('holds what a plugin says of itself', () => {
    const manifest = parseManifest(`
name: people
version: 1.2.3
requires: ^0.1.0
revision: '2.9'
group: people.example.com
dependencies: { teams: ^1.0.0, badges?: '>=2' }
main: build/main.js
displayName: People
description: Of persons.
`);
    expect(manifest).to.deep.equal({
      name: 'people',
      version: '1.2.3',
      requires: '^0.1.0',
      revision: '2.9',
      group: 'people.example.com',
      dependencies: [
        { name: 'teams', range: '^1.0.0', optional: false },
        { name: 'badges', range: '>=2', optional: true },
      ],
      main: 'build/main.js',
      displayName: 'People',
      description: 'Of persons.',
    });
  });

  it('is refused with every mistake at once', () => {
    const yaml =
      'name: People\nrequires: newest\nrevision: 2.15\ngroup: people\ncolour: red\ndependencies: { Team: x }\n';
    expect(() => parseManifest(yaml))
      .to.throw()
      .with.property('message')
      .that.includes('version: is missing')
      .and.includes('name: a name must consist of')
      .and.includes('requires: must be a range')
      .and.includes('revision: must be "2.15" or "2.9"')
      .and.includes('group: must be a domain')
      .and.includes('colour: is no key of a manifest')
      .and.includes('dependencies: Team: ');
  });

  for (const main of ['/etc/passwd', '../other/index.js', 'dist/../../x.js', "'a\\b.js'", '']) {
    it(`refuses main: ${main}`, () => {
      expect(() => parseManifest(`name: a\nversion: 1.0.0\nmain: ${main}\n`)).to.throw('main: must be');
    });
  }

  it('refuses the name under which the service registers its own kinds', () => {
    expect(() => parseManifest('name: service\nversion: 1.0.0\n')).to.throw('name: is reserved');
  });

  for (const [yaml, message] of [
    ['- a\n', 'must be a mapping'],
    ['name: a\n---\nname: b\n', 'holds 2 documents'],
    ['name: [\n', 'line'],
  ] as const) {
    it(`refuses ${JSON.stringify(yaml)}`, () => {
      expect(() => parseManifest(yaml)).to.throw(message);
    });
  }

  it('is refused by a host of another version', () => {
    const manifest = parseManifest('name: a\nversion: 1.0.0\nrequires: ^2.0.0\n');
    expect(() => checkRequires(manifest, '0.1.0')).to.throw('requires homeostat ^2.0.0, and this is 0.1.0');
    expect(() => checkRequires(manifest, '2.3.0')).not.to.throw();
  });

  it('says where the schema of settings is wrong, once', () => {
    const yaml = 'name: a\nversion: 1.0.0\nsettings: { type: object, properties: { port: { type: text } } }\n';
    const types = 'object, array, string, integer, number, boolean';
    expect(() => parseManifest(yaml)).to.throw(
      new RegExp(`^settings: settings[.]port: type must be one of ${types}, not "text"$`),
    );
  });
});
