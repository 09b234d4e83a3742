import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseManifest } from '../manifest/manifest.ts';
import { serveOptions } from './serve-options.ts';
import type { ServeOption } from './serve-options.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const configPath = path('schemas/config.schema.json');
const examples = path('../../examples');

function schema(file: string): ValidateFunction {
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError(`${file}: is no schema`);
  return new Ajv({ allErrors: true, strict: false }).compile(parsed);
}

/** Returns the JSON Schema of an option's value in a file of --config. */
function valueOf({ kind, description }: ServeOption): object {
  const texts = { type: 'array', items: { type: 'string', minLength: 1 } };
  const values: Readonly<Record<ServeOption['kind'], object>> = {
    text: { type: 'string', minLength: 1 },
    'whole number': { type: ['integer', 'string'], pattern: '^\\d{1,10}$' },
    'whole number or auto': { type: ['integer', 'string'], pattern: '^(?:\\d{1,10}|auto)$' },
    switch: { enum: [true, false, 'true', 'false'] },
    list: { anyOf: [{ type: 'string', minLength: 1 }, texts] },
  };
  return { description, ...values[kind] };
}

function configSchema(): string {
  const options = Object.entries<ServeOption>(serveOptions).filter(([name]) => name !== 'config');
  const properties = Object.fromEntries(options.map(([name, option]) => [name, valueOf(option)]));
  const title = 'The file of homeostat serve --config';
  const document = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    type: 'object',
    additionalProperties: false,
    properties,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

describe('The JSON Schemas for editors [spec experience-schemas]', () => {
  it('have a property for each option of serve except --config; WRITE_SCHEMAS=1 makes the test update the schema', () => {
    if (process.env['WRITE_SCHEMAS'] === '1') writeFileSync(configPath, configSchema());
    expect(JSON.parse(readFileSync(configPath, 'utf8'))).to.deep.equal(JSON.parse(configSchema()));
    const validate = schema(configPath);
    const file = 'database: sqlite:./data/x.db\nport: 8700\ntls: true\nplugin: [./people]\nlog-level: warn\n';
    expect(validate(load(file)), JSON.stringify(validate.errors)).to.equal(true);
    for (const wrong of ['prot: 8700', 'port: many', 'tls: maybe', 'plugin: 3', 'database: ""'])
      expect(validate(load(wrong)), wrong).to.equal(false);
  });

  it('accept the manifests of all examples', () => {
    const validate = schema(path('schemas/plugin.schema.json'));
    const folders = readdirSync(examples).filter((name) => /^\d/.test(name));
    expect(folders).to.have.length.above(8);
    for (const name of folders) {
      const text = readFileSync(`${examples}/${name}/plugin.yaml`, 'utf8');
      expect(validate(load(text)), `${name}: ${JSON.stringify(validate.errors)}`).to.equal(true);
    }
  });

  it('accept and refuse the same manifests as the server', () => {
    const validate = schema(path('schemas/plugin.schema.json'));
    const fine = 'name: people\nversion: 1.0.0\n';
    const rule = '{ apiGroups: [""], resources: [pods], verbs: [get] }';
    const right = [
      'requires: ^0.1.0',
      'revision: "2.9"',
      'group: people.example.com',
      'dependencies: { mail: ^1.0.0, "chat?": "*" }',
      'main: lib/plugin.js',
      'settings: { type: object, properties: { port: { type: integer } } }',
      `permissions: [${rule}]`,
      `roles: [{ name: reader, rules: [${rule}, { nonResourceURLs: [/x], verbs: [get] }], aggregateTo: [view] }]`,
      'displayName: People\ndescription: Greets people.',
    ];
    const wrong = [
      'nmae: x',
      'requires: 3',
      'revision: 2.9',
      'group: people',
      'dependencies: [mail]',
      'dependencies: { Mail: ^1.0.0 }',
      'main: ""',
      'settings: { type: string }',
      'permissions: all',
      'permissions: [{ verbs: [get] }]',
      'permissions: [{ nonResourceURLs: [/x], verbs: [get] }]',
      'roles: [{ name: reader }]',
      `roles: [{ name: reader, rules: [${rule}], aggregateTo: [root] }]`,
      'displayName: 3',
    ];
    const isAccepted = (text: string): boolean => {
      try {
        parseManifest(text);
        return true;
      } catch {
        return false;
      }
    };
    for (const line of [...right, ...wrong]) {
      const isRight = right.includes(line);
      expect(validate(load(fine + line)), `${line}: ${JSON.stringify(validate.errors)}`).to.equal(isRight);
      expect(isAccepted(fine + line), `${line}, by the server`).to.equal(isRight);
    }
    for (const text of [
      'version: 1.0.0\n',
      'name: people\n',
      'name: People\nversion: 1.0.0\n',
      'name: a\nversion: one\n',
    ])
      expect([validate(load(text)), isAccepted(text)], text).to.deep.equal([false, false]);
  });
});
