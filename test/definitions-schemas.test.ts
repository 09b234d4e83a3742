import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { largeDefinition } from './support/definitions/large-definition.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';
import {
  conditionOf,
  definitions,
  established,
  newWidget,
  widgetDefinitionName,
  widgetDefinitionPath,
  widgets,
} from './support/definitions/widget-definition.ts';
import { definitionOf, times, unfoldingDefaults, withProperties } from './support/definitions/widget-schemas.ts';
import type { Schema } from './support/definitions/widget-schemas.ts';

const text = { type: 'string' };
const count = { type: 'integer' };

const place = 'spec.versions[0].schema.openAPIV3Schema.properties[spec]';

describe('Schemas of CustomResourceDefinitions [compat definitions]', () => {
  let server: TestServer;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(() => server.stop());

  const serve = async (definition: object): Promise<void> => {
    await server.create(definitions, definition);
    await established(server, widgetDefinitionName);
  };
  const post = (spec: unknown, query = ''): Promise<Answer> =>
    server.post(`${widgets}${query}`, { ...newWidget('a'), spec });
  const causeOf = ({ body }: Answer): { readonly field?: string; readonly message: string } => body.details.causes[0];

  it('keep unknown fields of list items at every write when the list preserves unknown fields', async () => {
    const items = { type: 'object', properties: { a: text } };
    const list = { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items };
    await serve(definitionOf({ type: 'object', properties: { list, pruned: { type: 'array', items } } }));
    const item = { a: 'x', job_name: 'y' };
    const created = await post({ list: [item], pruned: [item] });
    expect(created.body.spec).to.deep.equal({ list: [item], pruned: [{ a: 'x' }] });
    const patched = await server.patch(`${widgets}/a`, { metadata: { labels: { b: 'c' } } });
    expect(patched.body.spec.list).to.deep.equal([item]);
  });

  describe('a default', () => {
    it('of a field is filled in for each list item; the server returns 413 if the object is then too large', async () => {
      const fields = Object.fromEntries(times(60, (at) => [`d${at}`, { ...text, default: 'x'.repeat(20) }]));
      const items = { type: 'object', properties: fields };
      await serve(definitionOf({ type: 'object', properties: { list: { type: 'array', items } } }));
      const few = await post({ list: [{}, { d0: 'own' }] });
      expect(Object.keys(few.body.spec.list[0])).to.have.length(60);
      expect(few.body.spec.list[1]).to.include({ d0: 'own', d1: 'x'.repeat(20) });
      const many = await post({ list: times(100_000, () => ({})) }, '?dryRun=All');
      expect([many.status, many.body.reason]).to.deep.equal([413, 'RequestEntityTooLarge']);
      expect(many.body.message).to.contain('the defaults that the schema fills in are more than 1572864 bytes');
    });

    it('that adds more than 10,000 values to an object is refused in a definition, with its path [slow]', async () => {
      const refused = await server.post(definitions, definitionOf(unfoldingDefaults(14)));
      expect(refused.status).to.equal(422);
      expect(causeOf(refused).field).to.equal(`${place}.default`);
      expect(causeOf(refused).message).to.contain('adds more than 10000 values to an object');
    });
  });

  describe('large schemas', () => {
    it('may have five times as many subschemas as the largest known definition [slow]', async () => {
      await serve(largeDefinition(5 * 10_505 + 100, 0));
      expect((await post({ f0: { f0: { f5: 'text' } } })).status).to.equal(201);
      expect(causeOf(await post({ f0: { f0: { f6: 'text' } } }, '?dryRun=All')).field).to.equal('spec.f0.f0.f6');
    });

    for (const [number, tier] of [
      [2000, ''],
      [3000, ' [slow]'],
    ] as const) {
      it(`may have ${number} properties in one object${tier}`, async () => {
        await serve(definitionOf(withProperties(number, () => text)));
        const all = Object.fromEntries(times(number, (at) => [`p${at}`, 'x']));
        expect((await post(all)).status).to.equal(201);
        const wrong = await server.post(widgets, { ...newWidget('b'), spec: { ...all, [`p${number - 1}`]: 1 } });
        expect(causeOf(wrong).field).to.equal(`spec.p${number - 1}`);
      });
    }

    it('may have an enum of 100,000 values, and validate a list of 50,000 of these values [slow]', async () => {
      const values = times(100_000, (at) => `v${at}`);
      await serve(
        definitionOf({ type: 'object', properties: { list: { type: 'array', items: { ...text, enum: values } } } }),
      );
      const list = values.slice(-50_000);
      expect((await post({ list })).status).to.equal(201);
      const refused = await post({ list: [...list.slice(1), 'none'] }, '?dryRun=All');
      expect(causeOf(refused).field).to.equal('spec.list[49999]');
      expect(causeOf(refused).message).to.contain('"v99" and 99900 more');
    });

    it('may have 300 patterns, and refuse an object that breaks one of them [slow]', async () => {
      const pattern = (at: number): string => `^[a-z]([-a-z0-9]{0,61}[a-z0-9])?-${at}$`;
      await serve(definitionOf(withProperties(300, (at) => ({ ...text, pattern: pattern(at) }))));
      const all = Object.fromEntries(times(300, (at) => [`p${at}`, `name-${at}`]));
      expect((await post(all)).status).to.equal(201);
      expect(causeOf(await post({ ...all, p7: 'name-8' }, '?dryRun=All')).message).to.contain(
        `should match '${pattern(7)}'`,
      );
    });

    it('may have nested branches of oneOf, and refuse an object that matches no branch', async () => {
      let branch: Schema = { required: ['x'] };
      for (let level = 0; level < 15; level += 1)
        branch = { oneOf: [branch, { required: [`y${level}`] }, { not: { required: ['z'] } }] };
      const items = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...branch };
      await serve(definitionOf({ type: 'object', properties: { list: { type: 'array', items } } }));
      expect((await post({ list: [{ z: 1, x: 1 }] })).status).to.equal(201);
      const refused = await post({ list: times(1000, () => ({ z: 1 })) }, '?dryRun=All');
      expect(refused.status).to.equal(422);
      expect(causeOf(refused).message).to.contain('must validate one and only one schema (oneOf). Found none valid');
    });

    it('refuse an object whose validation would take too long [slow]', async () => {
      const oneOf = times(1900, (at) => ({ required: [`a${at}`] }));
      const items = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, oneOf };
      const name = { ...text, pattern: '^(a|b)*a(a|b){900}$' };
      await serve(definitionOf({ type: 'object', properties: { name, list: { type: 'array', items } } }));
      expect((await post({ list: [{ a1: 1 }] })).status).to.equal(201);
      for (const spec of [{ list: times(20_000, () => ({ a1: 1 })) }, { name: 'ab'.repeat(20_000) }]) {
        const refused = await post(spec, '?dryRun=All');
        expect(refused.status).to.equal(422);
        expect(causeOf(refused).message).to.contain('too complex to be checked against its schema');
      }
    });
  });

  describe('limits of schemas', () => {
    const pattern = (value: string): Schema => ({ type: 'object', properties: { a: { ...text, pattern: value } } });
    const refusals: readonly (readonly [name: string, schema: Schema, field: string, message: string])[] = [
      ['a pattern of 6,000 states', pattern('(abc){1200}'), '.properties[a].pattern', 'more than 5000 states'],
      [
        'patterns of 300,000 states [slow]',
        withProperties(300, (at) => ({ ...text, pattern: `((x{10}){10}){10}${at}` })),
        '.properties[p81].pattern',
        'the automata of all patterns of a definition may have at most 100000 states together',
      ],
      [
        'parentheses 1,600 deep',
        pattern(`${'('.repeat(1600)}${')'.repeat(1600)}`),
        '.properties[a].pattern',
        'nests too deep',
      ],
      [
        '2,001 branches',
        { ...count, oneOf: times(2001, (at) => ({ minimum: at })) },
        '',
        'at most 2000 schemas in allOf, anyOf, oneOf and not may apply to one value',
      ],
      ['10,000 properties', withProperties(10_000, () => text), '.properties', 'must have at most 5000 items'],
      [
        '100,001 schemas [slow]',
        withProperties(50, () => ({ type: 'array', items: { type: 'object', anyOf: times(1998, () => ({})) } })),
        '.properties[p49].items.anyOf[1996]',
        'a definition has at most 100000 schemas',
      ],
    ];
    for (const [name, schema, field, message] of refusals) {
      it(`refuse ${name}`, async () => {
        const refused = await server.post(definitions, definitionOf(schema));
        expect(refused.status, refused.text.slice(0, 500)).to.equal(422);
        expect(causeOf(refused).field).to.equal(`${place}${field}`);
        expect(causeOf(refused).message).to.contain(message);
      });
    }

    it('refuse a definition of 10 MB with 413 [slow]', async () => {
      const refused = await server.post(definitions, largeDefinition(10_505, 900));
      expect(refused.status).to.equal(413);
    });

    it('refuse a $ref, with its path', async () => {
      const schema = { type: 'object', properties: { a: { $ref: '#/properties/spec' } } };
      const refused = await server.post(definitions, definitionOf(schema));
      expect(causeOf(refused)).to.include({ field: `${place}.properties[a].$ref` });
    });
  });

  it('are compiled again when they change, and validate the next object', async () => {
    await serve(definitionOf({ type: 'object', properties: { a: { ...text, pattern: '^a' } } }));
    expect((await post({ a: 'abc' })).status).to.equal(201);
    const next = definitionOf({ type: 'object', properties: { a: { ...text, pattern: '^b' } } });
    await server.patch(widgetDefinitionPath, { spec: (next as { spec: object }).spec });
    await eventually(async () => (await post({ a: 'abc' }, '?dryRun=All')).status === 422);
    expect((await conditionOf(server, widgetDefinitionName, 'Established'))?.status).to.equal('True');
  });
});
