import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

/** Returns a DNS subdomain with the given number of characters. */
function subdomain(length: number): string {
  return `${'abcdefghi.'.repeat(30).slice(0, length - 1)}z`;
}

/**
 * An object to send, and the expected causes of its refusal, each with its field. An object without causes is stored.
 */
interface Edge {
  readonly limit: string;
  readonly sent: Record<string, unknown>;
  readonly refused?: readonly string[];
}

const name = (length: number): Record<string, unknown> => person('n'.repeat(length));
const labelled = (key: string, value = 'v'): Record<string, unknown> =>
  person('edge', {}, { labels: { [key]: value } });
const spec = (fields: object): Record<string, unknown> => person('edge', fields);
const labels = 'FieldValueInvalid metadata.labels';

/** The limits in section 8 of the specification: values below, at and above each limit. */
const edges: readonly Edge[] = [
  { limit: 'a name of 0 characters', sent: name(0), refused: ['FieldValueRequired metadata.name'] },
  { limit: 'a name of 1 character', sent: name(1) },
  { limit: 'a name of 252 characters', sent: name(252) },
  { limit: 'a name of 253 characters', sent: name(253) },
  { limit: 'a name of 254 characters', sent: name(254), refused: ['FieldValueInvalid metadata.name'] },
  { limit: 'a label key prefix of 0 characters', sent: labelled('/n'), refused: [labels] },
  { limit: 'a label key prefix of 1 character', sent: labelled('p/n') },
  { limit: 'a label key prefix of 252 characters', sent: labelled(`${subdomain(252)}/n`) },
  { limit: 'a label key prefix of 253 characters', sent: labelled(`${subdomain(253)}/n`) },
  { limit: 'a label key prefix of 254 characters', sent: labelled(`${subdomain(254)}/n`), refused: [labels] },
  { limit: 'a label key name of 0 characters', sent: labelled('p.example.com/'), refused: [labels, labels] },
  { limit: 'a label key name of 1 character', sent: labelled('p.example.com/n') },
  { limit: 'a label key name of 62 characters', sent: labelled(`p.example.com/${'n'.repeat(62)}`) },
  { limit: 'a label key name of 63 characters', sent: labelled(`p.example.com/${'n'.repeat(63)}`) },
  { limit: 'a label key name of 64 characters', sent: labelled(`p.example.com/${'n'.repeat(64)}`), refused: [labels] },
  { limit: 'a label key of 253 and 63 characters', sent: labelled(`${subdomain(253)}/${'n'.repeat(63)}`) },
  { limit: 'a label key without prefix of 63 characters', sent: labelled('n'.repeat(63)) },
  { limit: 'a label key without prefix of 64 characters', sent: labelled('n'.repeat(64)), refused: [labels] },
  { limit: 'a label value of 0 characters', sent: labelled('n', '') },
  { limit: 'a label value of 63 characters', sent: labelled('n', 'v'.repeat(63)) },
  { limit: 'a label value of 64 characters', sent: labelled('n', 'v'.repeat(64)), refused: [labels] },
  { limit: 'spec.name of 0 characters', sent: spec({ name: '' }) },
  { limit: 'spec.name of 99 characters', sent: spec({ name: 'x'.repeat(99) }) },
  { limit: 'spec.name of 100 characters', sent: spec({ name: 'x'.repeat(100) }) },
  { limit: 'spec.name of 100 characters of two code units', sent: spec({ name: '😀'.repeat(100) }) },
  {
    limit: 'spec.name of 101 characters',
    sent: spec({ name: 'x'.repeat(101) }),
    refused: ['FieldValueTooLong spec.name'],
  },
  { limit: 'spec.age of -1', sent: spec({ age: -1 }), refused: ['FieldValueInvalid spec.age'] },
  { limit: 'spec.age of 0', sent: spec({ age: 0 }) },
  { limit: 'spec.age of 1', sent: spec({ age: 1 }) },
  { limit: 'spec.age of 149', sent: spec({ age: 149 }) },
  { limit: 'spec.age of 150', sent: spec({ age: 150 }) },
  { limit: 'spec.age of 151', sent: spec({ age: 151 }), refused: ['FieldValueInvalid spec.age'] },
];

const ruleOf: Readonly<Record<string, string>> = {
  'a name': '8-name',
  'a label key prefix': '8-label-prefix',
  'a label key name': '8-label-name',
  'spec.name': '8-person-name',
  'spec.age': '8-person-age',
};

function tagOf(limit: string): string {
  const rule = ruleOf[limit.slice(0, limit.indexOf(' of '))];
  return rule === undefined ? '' : ` [spec ${rule}]`;
}

interface Sent {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly spec: object;
}

describe('limits', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  beforeEach(() => server.delete(persons));

  after(() => server.stop());

  for (const { limit, sent, refused } of edges) {
    const { metadata, spec: fields } = sent as unknown as Sent;
    const isName = metadata.name !== 'edge';
    if (refused === undefined) {
      it(`allow an object with ${limit}${tagOf(limit)}`, async () => {
        const path = `${persons}/${metadata.name}`;
        await server.create(persons, sent);
        const { body } = await server.get(path);
        expect(body.metadata.name).to.equal(metadata.name);
        expect(body.metadata.labels).to.deep.equal(metadata.labels);
        expect(body.spec).to.include(fields);
        if (isName) return;
        await server.put(path, person('edge'));
        expect((await server.put(path, sent)).status).to.equal(200);
      });
      continue;
    }
    it(`refuse an object with ${limit}, and name the field${tagOf(limit)}`, async () => {
      expectRefusal(await server.post(persons, sent), { reason: 'Invalid', causes: refused });
      expect((await server.get(persons)).body.total).to.equal(0);
      if (isName) return;
      const stored = await server.create(persons, person('edge'));
      expectRefusal(await server.put(`${persons}/edge`, sent), { reason: 'Invalid', causes: refused });
      const change = { metadata: { labels: metadata.labels }, spec: fields };
      expectRefusal(await server.patch(`${persons}/edge`, change), { reason: 'Invalid', causes: refused });
      expect((await server.get(`${persons}/edge`)).body).to.deep.equal(stored);
    });
  }

  it('do not restrict lists by default: a list request without the parameter size returns all objects [spec 8-list-size]', async () => {
    for (let index = 0; index < 120; index += 1) await server.create(persons, person(`p${index}`));
    const { body } = await server.get(persons);
    expect(body).to.include({ page: 1, size: 0, total: 120, totalPages: 1 });
    expect(body.items).to.have.length(120);
  });
});
