import { expect } from 'chai';
import { checkRequires, parseManifest } from './manifest.ts';

describe('plugin.yaml', () => {
  it('needs a name and a version, and has defaults for requires, revision, main and dependencies', () => {
    expect(parseManifest('name: people\nversion: 1.2.3\n')).to.deep.equal({
      name: 'people',
      version: '1.2.3',
      requires: '*',
      revision: '2.15',
      main: 'dist/index.js',
      dependencies: [],
    });
  });

  it('may have requires, revision, group, dependencies, main, displayName and description together', () => {
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

  it('is refused with a message that lists every mistake with its line', () => {
    const yaml = [
      'name: People',
      'requires: newest',
      'verson: 1.0.0',
      '',
      'revision: 2.15',
      'group: people',
      'colour: red',
      'dependencies:',
      '  teams: ^1.0.0',
      '  Team: x',
      'settings:',
      '  type: object',
      '  properties:',
      '    mail: { type: object, properties: {',
      '      port: { type: text } } }',
    ].join('\n');
    const keys =
      'name, version, requires, revision, group, dependencies, main, settings, permissions, roles, displayName, description';
    expect(() => parseManifest(yaml))
      .to.throw()
      .with.property('message')
      .that.satisfies((message: string) => {
        expect(
          message.split('; ').map((each) => each.replace(/(must consist of|one of|such as).*/, '$1')),
        ).to.deep.equal([
          'plugin.yaml: version: is missing',
          'plugin.yaml:1: name: a name must consist of',
          'plugin.yaml:2: requires: must be a range of versions such as',
          'plugin.yaml:3: unknown key "verson". Did you mean "version"?',
          'plugin.yaml:5: revision: must be "2.15" or "2.9", in quotes',
          'plugin.yaml:6: group: must be a domain with at least one dot',
          `plugin.yaml:7: unknown key "colour". The keys are ${keys}.`,
          'plugin.yaml:10: dependencies: Team: a name must consist of',
          'plugin.yaml:15: settings: settings.mail.port: type must be one of',
        ]);
        return true;
      });
  });

  for (const main of ['/etc/passwd', '../other/index.js', 'dist/../../x.js', "'a\\b.js'", '']) {
    it(`is refused with main: ${main}`, () => {
      expect(() => parseManifest(`name: a\nversion: 1.0.0\nmain: ${main}\n`)).to.throw('main: must be');
    });
  }

  it('is refused with the name "service", which is reserved for the server', () => {
    expect(() => parseManifest('name: service\nversion: 1.0.0\n')).to.throw('name: is reserved');
  });

  for (const [yaml, message] of [
    ['\n- a\n', 'plugin.yaml:2: must be a mapping of keys to values'],
    ['name: a\n---\nname: b\n', 'plugin.yaml:3: has 2 documents, but may have only one'],
    ['name: a\nversion: [\n', 'plugin.yaml:3: not valid YAML: '],
    ['name: a\nname: b\n', 'plugin.yaml:2: not valid YAML: '],
    ['', 'plugin.yaml: name: is missing'],
  ] as const) {
    it(`is refused when its text is ${JSON.stringify(yaml)}`, () => {
      expect(() => parseManifest(yaml)).to.throw(message);
    });
  }

  it('is refused when it requires another version of the host', () => {
    const manifest = parseManifest('name: a\nversion: 1.0.0\nrequires: ^2.0.0\n');
    expect(() => checkRequires(manifest, '0.1.0')).to.throw('requires homeostat ^2.0.0, but this is 0.1.0');
    expect(() => checkRequires(manifest, '2.3.0')).not.to.throw();
  });

  it('may have permissions and roles, in the form of RBAC rules', () => {
    const { permissions, roles } = parseManifest(`
name: people
version: 1.2.3
permissions:
  - { apiGroups: ['', people.example.com], resources: [persons], resourceNames: [ada], verbs: ['*'] }
roles:
  - name: reader
    aggregateTo: [view]
    rules:
      - { apiGroups: [people.example.com], resources: [persons], verbs: [get, list, watch] }
      - { nonResourceURLs: [/apis/people.example.com/v1/hello], verbs: [get] }
`);
    expect(permissions).to.deep.equal([
      { apiGroups: ['', 'people.example.com'], resources: ['persons'], resourceNames: ['ada'], verbs: ['*'] },
    ]);
    expect(roles?.[0])
      .to.include({ name: 'reader' })
      .and.to.deep.include({ aggregateTo: ['view'] });
    expect(roles?.[0]?.rules[1]).to.deep.equal({
      nonResourceURLs: ['/apis/people.example.com/v1/hello'],
      verbs: ['get'],
    });
  });

  it('is refused with a message that names each wrong permission and role with its line', () => {
    const yaml = [
      'name: people',
      'version: 1.0.0',
      'permissions:',
      '  - apiGroups: people.example.com',
      '    resources: [persons]',
      '  - apiGroups: [x.example.com]',
      '    resource: [a]',
      '    resources: []',
      '    verbs: [get]',
      '  - get',
      '  - { nonResourceURLs: [/x], verbs: [get] }',
      'roles:',
      '  - name: Reader',
      '    rules: []',
      '    aggregateTo: [viewer]',
      '  - name: b',
      '  - name: b',
      '    rules: {}',
    ].join('\n');
    expect(() => parseManifest(yaml))
      .to.throw()
      .with.property('message')
      .that.satisfies((message: string) => {
        expect(message.split('; ').map((each) => each.replace(/(must consist of).*/, '$1'))).to.deep.equal([
          'plugin.yaml:4: permissions[0]: verbs: is missing',
          'plugin.yaml:4: permissions[0].apiGroups: must be a list of at least one text, and only in apiGroups may a text be empty',
          'plugin.yaml:7: permissions[1]: unknown key "resource". Did you mean "resources"?',
          'plugin.yaml:8: permissions[1].resources: must be a list of at least one text, and only in apiGroups may a text be empty',
          'plugin.yaml:10: permissions[2]: must be a rule with apiGroups, resources and verbs',
          'plugin.yaml:11: permissions[3]: unknown key "nonResourceURLs". The keys are apiGroups, resources, resourceNames, verbs.',
          'plugin.yaml:11: permissions[3]: apiGroups: is missing',
          'plugin.yaml:11: permissions[3]: resources: is missing',
          'plugin.yaml:13: roles[0].name: a name must consist of',
          'plugin.yaml:15: roles[0].aggregateTo: must be a list, each item one of view, edit, admin',
          'plugin.yaml:16: roles[1]: rules: is missing',
          'plugin.yaml:18: roles[2].rules: must be a list of rules with apiGroups, resources and verbs',
          'plugin.yaml:17: roles[2].name: another role has the name "b"',
        ]);
        return true;
      });
  });

  it('is refused with the line of a mistake in the schema of a setting, also of a setting with the name items', () => {
    const yaml = `name: a
version: 1.0.0
settings:
  type: object
  properties:
    items:
      type: array
      items:
        type: object
        properties:
          port:
            type: text
`;
    expect(() => parseManifest(yaml)).to.throw(/^plugin.yaml:11: settings: settings[.]items[.]items[.]port: type/);
  });

  it('is refused with one message for a mistake in the schema of settings', () => {
    const yaml = 'name: a\nversion: 1.0.0\nsettings: { type: object, properties: { port: { type: text } } }\n';
    const types = 'object, array, string, integer, number, boolean';
    expect(() => parseManifest(yaml)).to.throw(
      new RegExp(`^plugin.yaml:3: settings: settings[.]port: type must be one of ${types}, not "text"$`),
    );
  });
});
