import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

/**
 * `otherPerson` is a Person in a Person (section 2.7 of the specification). Its spec is validated like the spec of
 * every Person, but its apiVersion, kind and metadata are optional.
 */
describe('a person in a person', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(async () => server.stop());

  const within = (innermost: object): object => ({
    otherPerson: { spec: { name: 'B', otherPerson: { spec: { name: 'C', ...innermost } } } },
  });

  it('is validated three levels deep, and the refusal has the full path [spec 2.7-other-person]', async () => {
    const answer = await server.post(persons, person('a', within({ age: 151, gender: 'X', tags: [1] })));
    const field = 'spec.otherPerson.spec.otherPerson.spec';
    expectRefusal(answer, {
      reason: 'Invalid',
      causes: [
        `FieldValueInvalid ${field}.age`,
        `FieldValueNotSupported ${field}.gender`,
        `FieldValueTypeInvalid ${field}.tags[0]`,
      ],
    });
  });

  it('is pruned and gets its defaults three levels deep', async () => {
    const answer = await server.post(persons, person('b', within({ bogus: 1, otherPerson: { spec: { name: 'D' } } })));
    expect(answer.status).to.equal(201);
    expect(answer.headers['warning']).to.include('spec.otherPerson.spec.otherPerson.spec.bogus');
    const { spec } = answer.body;
    const third = { name: 'C', nick: 'none', otherPerson: { spec: { name: 'D', nick: 'none' } } };
    expect(spec.otherPerson).to.deep.equal({ spec: { name: 'B', nick: 'none', otherPerson: { spec: third } } });
  });

  it('needs a spec, like every Person', async () => {
    const answer = await server.post(persons, person('c', { otherPerson: {} }));
    expectRefusal(answer, { reason: 'Invalid', causes: ['FieldValueRequired spec.otherPerson.spec'] });
  });

  it('may omit apiVersion, kind and metadata, and keeps them when they are sent', async () => {
    const otherPerson = {
      apiVersion: 'people.example.com/v1alpha1',
      kind: 'Person',
      metadata: { name: 'somebody', anything: 1 },
      spec: { name: 'B', nick: 'b' },
    };
    const answer = await server.post(persons, person('d', { otherPerson }));
    expect(answer.status).to.equal(201);
    expect(answer.headers['warning']).to.equal(undefined);
    expect(answer.body.spec.otherPerson).to.deep.equal(otherPerson);
    const wrong = await server.post(persons, person('e', { otherPerson: { ...otherPerson, kind: 1, metadata: 2 } }));
    expectRefusal(wrong, {
      reason: 'Invalid',
      causes: ['FieldValueTypeInvalid spec.otherPerson.kind', 'FieldValueTypeInvalid spec.otherPerson.metadata'],
    });
  });
});
