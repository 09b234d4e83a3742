import { expect } from 'chai';
import { apiVersion, letters, machines, newLetter, newMachine, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import type { Refusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const ann = `${persons}/ann`;
const group = 'people.example.com';
const notFound = { reason: 'NotFound' } as const;
const lettersHere = letters.replace('letters', 'namespaces/here/letters');

describe('errors: objects', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['here', 'there']);
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann', { slug: 'ann' }));
  });

  after(() => server.stop());

  async function expectRefused(
    method: string,
    path: string,
    expected: Refusal,
    options: Parameters<TestServer['request']>[2] = {},
  ): Promise<void> {
    expectRefusal(await leavesNoTrace(server, () => server.request(method, path, options)), expected);
  }

  describe('404', () => {
    const absent: Refusal = {
      ...notFound,
      message: 'persons.people.example.com "nobody" not found',
      details: { name: 'nobody', group, kind: 'persons' },
    };
    for (const path of [`${persons}/nobody`, `${persons}/nobody/status`]) {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        if (method === 'DELETE' && path.endsWith('status')) continue;
        it(`responds with 404 to ${method} ${path.slice(persons.length)}, and creates no object`, async () => {
          const body = method === 'PUT' ? person('nobody') : method === 'PATCH' ? { spec: { age: 1 } } : undefined;
          await expectRefused(method, path, absent, { body });
        });
      }
    }

    it('responds with 404 to /status of ConfigMaps and ClusterRoles, and omits this path from discovery and OpenAPI', async () => {
      const rbac = '/apis/rbac.authorization.k8s.io/v1';
      await server.create('/api/v1/namespaces/here/configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'x' },
      });
      for (const [root, plural, path] of [
        [rbac, 'clusterroles', `${rbac}/clusterroles/view`],
        ['/api/v1', 'configmaps', '/api/v1/namespaces/here/configmaps/x'],
      ] as const) {
        const { body } = await server.get(path);
        for (const method of ['GET', 'PUT', 'PATCH']) {
          const sent = method === 'PUT' ? body : method === 'PATCH' ? { metadata: { labels: { a: 'b' } } } : undefined;
          await expectRefused(method, `${path}/status`, notFound, { body: sent });
        }
        const listed = (await server.get(root)).body.resources.map(({ name }: { name: string }) => name);
        expect(listed).to.include(plural).and.not.include(`${plural}/status`);
        const document = (await server.get(`/openapi/v3${root}`)).body;
        expect(Object.keys(document.paths).filter((each) => each.endsWith(`${plural}/{name}/status`))).to.deep.equal(
          [],
        );
      }
      expect((await server.get('/api/v1/namespaces/here/status')).status).to.equal(200);
      expect((await server.get('/api/v1')).body.resources).to.deep.include({
        name: 'resourcequotas/status',
        singularName: '',
        namespaced: true,
        kind: 'ResourceQuota',
        verbs: ['get', 'patch', 'update'],
      });
    });

    const nowhere = [
      '/nope',
      '/apis/people.example.com/v1alpha1/nobodies',
      '/apis/people.example.com/v1alpha1/nobodies/x',
      '/apis/people.example.com/v2/persons',
      '/apis/other.example.com/v1/persons',
      '/api/v1/persons',
      `${persons}/ann/spec`,
      `${persons}/ann/status/more`,
      `${persons}//ann`,
      `/${persons}`,
      `${persons}//`,
      `${persons}/namespaces/here/persons`,
      persons.replace('persons', 'namespaces/here/persons'),
      letters.replace('letters', 'namespaces/a%2Fb/letters'),
      `${letters}/x`,
      '/apis/people.example.com/v1alpha1/Persons',
    ];
    for (const path of nowhere) {
      it(`responds with 404 to ${path}`, async () => {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          expectRefusal(
            await server.request(method, path, { body: method === 'PUT' ? person('ann') : undefined }),
            notFound,
          );
        }
      });
    }

    it('responds with 404 to a POST or DELETE of a Namespaced kind without a namespace in the path', async () => {
      await expectRefused('POST', letters, notFound, { body: newLetter('x') });
      await expectRefused('DELETE', letters, notFound);
    });

    for (const name of [
      '..%2F..%2Fann',
      '%00',
      'a%00b',
      'a%2Fb',
      'Ann',
      '_',
      '%20',
      '-ann',
      'a'.repeat(254),
      '%E2%98%83',
    ]) {
      it(`responds with 404 to the name ${name.slice(0, 20)}, which no object can have`, async () => {
        for (const [method, body] of [['GET'], ['PUT', person('ann')], ['PATCH', { spec: {} }], ['DELETE']] as const) {
          const answer = await leavesNoTrace(server, () => server.request(method, `${persons}/${name}`, { body }));
          // A PUT may get 400 instead of 404, because the name in its body differs from the name in the path.
          if (method === 'PUT' && answer.status === 400) expectRefusal(answer, { reason: 'BadRequest' });
          else expectRefusal(answer, notFound);
        }
      });
    }

    it('responds with 404 to the discovery of a group or version without served kinds', async () => {
      expectRefusal(await server.get('/apis/other.example.com'), notFound);
      expectRefusal(await server.get('/apis/people.example.com/v2'), notFound);
    });

    it('responds with 200 to the path of an object or a collection with a trailing slash', async () => {
      expect((await server.get(`${persons}/`)).status).to.equal(200);
      expect((await server.get(`${ann}/`)).status).to.equal(200);
    });

    it('responds with 404 to the name of an object of another kind', async () => {
      expectRefusal(await server.get(`${machines}/ann`), notFound);
    });
  });

  describe('400 for paths', () => {
    for (const name of ['%zz', '%', '%f', '%ff', '%c3%28']) {
      it(`refuses the name ${name} in a path, because it is not percent-encoded UTF-8`, async () => {
        for (const method of ['GET', 'DELETE']) {
          await expectRefused(method, `${persons}/${name}`, { reason: 'BadRequest' });
        }
      });
    }
  });

  describe('405', () => {
    const ofCollection = 'GET, HEAD, POST, DELETE';
    const ofObject = 'GET, HEAD, PUT, PATCH, DELETE';
    const ofStatus = 'GET, HEAD, PUT, PATCH';
    const cases = [
      ['PUT', persons, ofCollection],
      ['PATCH', persons, ofCollection],
      ['POST', ann, ofObject],
      ['POST', `${ann}/status`, ofStatus],
      ['DELETE', `${ann}/status`, ofStatus],
      ['OPTIONS', ann, ofObject],
      ['OPTIONS', persons, ofCollection],
      ['TRACE', persons, ofCollection],
      ['PROPFIND', persons, ofCollection],
    ] as const;
    for (const [method, path, allowed] of cases) {
      it(`refuses ${method} ${path.slice(persons.length) || 'on the collection'} with 405 and the allowed methods`, async () => {
        const expected: Refusal = {
          reason: 'MethodNotAllowed',
          message: `${method.toLowerCase()} is not supported on resources of kind "persons.people.example.com"`,
          details: { group, kind: 'persons' },
        };
        const body = method === 'PUT' ? person('ann') : undefined;
        const answer = await leavesNoTrace(server, () => server.request(method, path, { body }));
        expectRefusal(answer, expected);
        expect(answer.headers['allow']).to.equal(allowed);
      });
    }

    const elsewhere = [
      ['/apis', 'GET, HEAD'],
      ['/version', 'GET, HEAD'],
      ['/livez', 'GET, HEAD'],
      ['/apis/people.example.com/v1alpha1', 'GET, HEAD'],
      ['/export', 'GET'],
    ] as const;
    for (const [path, allowed] of elsewhere) {
      it(`refuses POST ${path} with 405 and the allowed methods`, async () => {
        const answer = await server.post(path, {});
        expectRefusal(answer, { reason: 'MethodNotAllowed' });
        expect(answer.headers['allow']).to.equal(allowed);
      });
    }
  });

  describe('406', () => {
    for (const accept of [
      'text/html',
      'application/xml',
      'application/vnd.kubernetes.protobuf',
      'application/json;q=0',
    ]) {
      it(`refuses a request that accepts only ${accept}, and writes nothing`, async () => {
        const headers = { accept };
        const expected: Refusal = { reason: 'NotAcceptable', message: 'application/json' };
        await expectRefused('GET', ann, expected, { headers });
        await expectRefused('GET', persons, expected, { headers });
        await expectRefused('GET', `${persons}?watch=true`, expected, { headers });
        await expectRefused('POST', persons, expected, { headers, body: person('x') });
        await expectRefused('PUT', ann, expected, { headers, body: person('ann', { age: 5 }) });
        await expectRefused('PATCH', ann, expected, { headers, body: { spec: { age: 5 } } });
        await expectRefused('DELETE', ann, expected, { headers });
        await expectRefused('DELETE', persons, expected, { headers });
      });
    }

    it('accepts a request when the server supports one of the media types in Accept', async () => {
      const accept = 'application/vnd.kubernetes.protobuf, text/html;q=0.9, application/json;q=0.1';
      expect((await server.get(ann, { accept })).status).to.equal(200);
    });
  });

  describe('415', () => {
    const expected: Refusal = { reason: 'UnsupportedMediaType' };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/vnd.kubernetes.protobuf']) {
      it(`refuses a body of ${type}`, async () => {
        await expectRefused('POST', persons, { ...expected, message: 'application/json' }, { body: person('x'), type });
        await expectRefused('PUT', ann, expected, { body: person('ann', { age: 5 }), type });
        await expectRefused(
          'PATCH',
          ann,
          { ...expected, message: 'merge-patch' },
          { body: { spec: { age: 5 } }, type },
        );
      });
    }

    for (const type of ['', 'application/json']) {
      it(`refuses a patch with the media type "${type}"`, async () => {
        await expectRefused(
          'PATCH',
          ann,
          { ...expected, message: 'application/merge-patch+json' },
          {
            body: { spec: { age: 5 } },
            type,
          },
        );
      });
    }

    it('refuses a strategic merge patch with a directive at any depth', async () => {
      const type = 'application/strategic-merge-patch+json';
      for (const patch of [
        { $patch: 'replace', spec: { age: 5 } },
        { spec: { $retainKeys: ['age'], age: 5 } },
        { spec: { tags: [{ $patch: 'delete' }] } },
        { spec: { '$setElementOrder/tags': ['a'] } },
        { spec: { '$deleteFromPrimitiveList/tags': ['a'] } },
      ]) {
        await expectRefused('PATCH', ann, expected, { body: patch, type });
      }
    });

    it('refuses the charset latin1 and the content encoding br', async () => {
      await expectRefused('POST', persons, expected, { body: person('x'), type: 'application/json; charset=latin1' });
      await expectRefused('POST', persons, expected, { body: person('x'), headers: { 'content-encoding': 'br' } });
    });
  });

  describe('409', () => {
    const exists: Refusal = {
      reason: 'AlreadyExists',
      message: 'persons.people.example.com "ann" already exists',
      details: { name: 'ann', group, kind: 'persons' },
    };
    const conflict: Refusal = {
      reason: 'Conflict',
      message: 'Operation cannot be fulfilled on persons.people.example.com "ann"',
      details: { name: 'ann', group, kind: 'persons' },
    };

    it('refuses a creation with the name of an existing object [spec 2.3-name]', async () => {
      await expectRefused('POST', persons, exists, { body: person('ann') });
      await expectRefused('POST', `${persons}?dryRun=All`, exists, { body: person('ann') });
    });

    it('refuses a creation with the name of an object that is being deleted, and reports the deletion', async () => {
      await server.create(persons, person('leaving', {}, { finalizers: ['a.b/c'] }));
      await server.delete(`${persons}/leaving`);
      await expectRefused(
        'POST',
        persons,
        { reason: 'AlreadyExists', message: 'object is being deleted' },
        { body: person('leaving') },
      );
      await server.patch(`${persons}/leaving`, { metadata: { finalizers: null } });
    });

    it('refuses a wrong version, resourceVersion or uid in PUT and PATCH of the object and its status [spec 2.3-version-mismatch, 7-version]', async () => {
      const { metadata } = (await server.get(ann)).body;
      const stale = [
        { version: 2 },
        { version: 0 },
        { resourceVersion: String(Number(metadata.resourceVersion) - 1) },
        { resourceVersion: String(Number(metadata.resourceVersion) + 1) },
        { version: 1, resourceVersion: '1' },
      ];
      for (const precondition of stale) {
        for (const path of [ann, `${ann}/status`]) {
          await expectRefused('PUT', path, conflict, { body: person('ann', { age: 5 }, precondition) });
          await expectRefused('PATCH', path, conflict, { body: { metadata: precondition, spec: { age: 5 } } });
        }
      }
      const uid = '00000000-0000-4000-8000-000000000000';
      const foreign: Refusal = { ...conflict, message: `the UID in the precondition (${uid}) does not match` };
      await expectRefused('PUT', ann, foreign, { body: person('ann', { age: 5 }, { uid }) });
      await expectRefused(
        'PATCH',
        ann,
        { reason: 'Invalid', causes: ['FieldValueInvalid metadata.uid'] },
        {
          body: { metadata: { uid } },
        },
      );
    });

    it('refuses a PUT with a wrong metadata.version even if the PUT would change nothing', async () => {
      await expectRefused('PUT', ann, conflict, { body: person('ann', { slug: 'ann' }, { version: 7 }) });
    });

    it('refuses a deletion whose preconditions have a uid or resourceVersion that the object does not have', async () => {
      for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }]) {
        await expectRefused('DELETE', ann, conflict, { body: { preconditions } });
      }
      const { metadata } = (await server.get(ann)).body;
      const { uid, resourceVersion } = metadata;
      await expectRefused('DELETE', ann, conflict, { body: { preconditions: { uid: null, resourceVersion: '1' } } });
      expect((await server.delete(ann, { body: { preconditions: { uid, resourceVersion } } })).status).to.equal(200);
    });

    it('accepts only one of many concurrent updates of the same version', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, age) => server.put(ann, person('ann', { age }, { version: 1 }))),
      );
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
      expect(answers.filter(({ status }) => status === 409)).to.have.length(9);
    });

    it('accepts only one of many concurrent creations of the same name', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => server.post(persons, person('race'))));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(9).fill(409)]);
    });
  });

  describe('422', () => {
    it('lists all violations of metadata and of the schema, each with its field [spec 7-format]', async () => {
      const wrong = {
        ...person('Not_A_Name', { age: 151, gender: 'OTHER', tags: ['a', 5], name: 'x'.repeat(101) }),
        metadata: {
          name: 'Not_A_Name',
          labels: { 'bad key!': 'v', good: 'no spaces allowed' },
          annotations: { '/x': 'y' },
          finalizers: ['bad finalizer'],
        },
      };
      await expectRefused(
        'POST',
        persons,
        {
          reason: 'Invalid',
          message: /^Person\.people\.example\.com "Not_A_Name" is invalid: \[/,
          details: { name: 'Not_A_Name', group, kind: 'Person' },
          causes: [
            'FieldValueInvalid metadata.name',
            'FieldValueInvalid metadata.labels',
            'FieldValueInvalid metadata.labels',
            'FieldValueInvalid metadata.annotations',
            'FieldValueInvalid metadata.finalizers',
            'FieldValueTooLong spec.name',
            'FieldValueInvalid spec.age',
            'FieldValueNotSupported spec.gender',
            'FieldValueTypeInvalid spec.tags[1]',
          ],
        },
        { body: wrong },
      );
    });

    const schema: readonly [claim: string, spec: object, cause: string, rules: string][] = [
      [
        'a required field that is missing',
        { name: undefined },
        'FieldValueRequired spec.name',
        '2.6-required, 7-schema',
      ],
      ['a required field that is null', { name: null }, 'FieldValueRequired spec.name', '2.6-required'],
      ['a text that is too long', { name: 'x'.repeat(101) }, 'FieldValueTooLong spec.name', '2.6-max-length, 7-schema'],
      ['a number below the minimum', { age: -1 }, 'FieldValueInvalid spec.age', '2.6-minimum, 7-schema'],
      ['a number above the maximum', { age: 151 }, 'FieldValueInvalid spec.age', '2.6-maximum, 7-schema'],
      ['a fraction in place of an integer', { age: 1.5 }, 'FieldValueTypeInvalid spec.age', '2.7-age'],
      ['a text in place of an integer', { age: '5' }, 'FieldValueTypeInvalid spec.age', '2.7-age'],
      ['a value outside the enumeration', { gender: 'male' }, 'FieldValueNotSupported spec.gender', '2.7-gender'],
      ['an object in place of a list', { tags: {} }, 'FieldValueTypeInvalid spec.tags', '2.2-spec'],
      [
        'a wrong value in a Person that is nested in a Person',
        { otherPerson: { apiVersion, kind: 'Person', metadata: { name: 'o' }, spec: { name: 'O', age: 200 } } },
        'FieldValueInvalid spec.otherPerson.spec.age',
        '2.7-other-person',
      ],
    ];
    for (const [claim, spec, causes, rules] of schema) {
      it(`refuses ${claim}, on creation and update [spec 2.6-create, 2.6-modify, ${rules}]`, async () => {
        const expected: Refusal = { reason: 'Invalid', causes: [causes] };
        await expectRefused('POST', persons, expected, { body: person('x', spec) });
        await expectRefused('POST', `${persons}?dryRun=All`, expected, { body: person('x', spec) });
        await expectRefused('PUT', ann, expected, { body: person('ann', spec) });
      });
    }

    it('refuses an object without a spec [spec 2.7-spec, 9-fields-2.15]', async () => {
      const body = { ...person('x'), spec: undefined };
      await expectRefused('POST', persons, { reason: 'Invalid', causes: ['FieldValueRequired spec'] }, { body });
    });

    it('refuses an object that has neither name nor generateName', async () => {
      const expected: Refusal = { reason: 'Invalid', causes: ['FieldValueRequired metadata.name'] };
      for (const metadata of [{}, { generateName: '' }, { name: '', generateName: '' }]) {
        await expectRefused('POST', persons, expected, { body: { ...person('x'), metadata } });
      }
    });

    const badNames: readonly [name: string, rule: string][] = [
      ...['Upper', 'a.b', 'a_b', 'a/b', 'ä', ' '].map((name): [string, string] => [name, '2.4-characters']),
      ['-x', '2.4-ends'],
      ['x-', '2.4-ends'],
      ['x'.repeat(254), '2.4-length'],
    ];
    for (const [name, rule] of badNames) {
      const what = name.length > 253 ? 'a name of 254 characters' : `the name "${name}"`;
      it(`refuses ${what} [spec ${rule}]`, async () => {
        const expected: Refusal = { reason: 'Invalid', causes: ['FieldValueInvalid metadata.name'] };
        await expectRefused('POST', persons, expected, { body: person(name) });
      });
    }

    it('refuses a value of a unique index that another object has, on creation and update, and names the other object [spec 2.8-unique, 2.8-unique-update, 7-unique]', async () => {
      await server.create(persons, person('bob', { slug: 'bob' }));
      const expected: Refusal = {
        reason: 'Invalid',
        causes: ['FieldValueDuplicate spec.slug'],
        message: /"ann".*Person "ann"|Person "ann"/,
      };
      await expectRefused('POST', persons, expected, { body: person('x', { slug: 'ann' }) });
      await expectRefused('POST', `${persons}?dryRun=All`, expected, { body: person('x', { slug: 'ann' }) });
      await expectRefused('PUT', `${persons}/bob`, expected, { body: person('bob', { slug: 'ann' }) });
      await expectRefused('PATCH', `${persons}/bob`, expected, { body: { spec: { slug: 'ann' } } });
    });

    it('gives a unique value to one of many concurrent creations, until its object drops the value or is deleted', async () => {
      const names = Array.from({ length: 10 }, (_, i) => `slug-${i}`);
      const answers = await Promise.all(names.map((name) => server.post(persons, person(name, { slug: 'wanted' }))));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(9).fill(422)]);
      const holder = answers.find(({ status }) => status === 201)?.body.metadata.name as string;
      await server.patch(`${persons}/${holder}`, { spec: { slug: null } });
      expect((await server.post(persons, person('second', { slug: 'wanted' }))).status).to.equal(201);
      await server.delete(`${persons}/second`);
      expect((await server.post(persons, person('third', { slug: 'wanted' }))).status).to.equal(201);
    });

    it('names the object that already has a unique value, with its namespace', async () => {
      await server.create(lettersHere, newLetter('first', { text: 'unique' }));
      const path = lettersHere.replace('here', 'there');
      await expectRefused(
        'POST',
        path,
        { reason: 'Invalid', causes: ['FieldValueDuplicate spec.text'], message: 'here/first' },
        { body: newLetter('second', { text: 'unique' }) },
      );
    });

    for (const [name, tag] of [
      ['index throws', ''],
      ['index returns a number', ' [spec 2.8-strings]'],
    ] as const) {
      it(`refuses a creation or update when the function of an index gives no valid values (${name})${tag}`, async () => {
        const expected: Refusal = { reason: 'Invalid', causes: ['FieldValueInvalid trap'] };
        await expectRefused('POST', persons, expected, { body: person('x', { name }) });
        await expectRefused('PUT', ann, expected, { body: person('ann', { name }) });
        await expectRefused('PATCH', ann, expected, { body: { spec: { name } } });
      });
    }

    it('refuses a JSON patch with a failed test, or with a path that does not exist in the object', async () => {
      const type = 'application/json-patch+json';
      for (const operation of [
        { op: 'test', path: '/spec/name', value: 'Somebody' },
        { op: 'remove', path: '/spec/nothing' },
        { op: 'replace', path: '/spec/nothing', value: 1 },
        { op: 'add', path: '/nowhere/at/all', value: 1 },
        { op: 'copy', from: '/nothing', path: '/spec/age' },
      ]) {
        const body = [{ op: 'add', path: '/spec/age', value: 77 }, operation];
        await expectRefused('PATCH', ann, { reason: 'Invalid' }, { body, type });
      }
    });
  });

  describe('application/problem+json', () => {
    it('has the information of the Status in the form of RFC 9457', async () => {
      const headers = { accept: 'application/problem+json' };
      const answer = await server.post(persons, person('x', { age: 151 }), { headers });
      expect(answer.status).to.equal(422);
      expect(answer.headers['content-type']).to.equal('application/problem+json');
      const { type, title, status, detail, instance, causes } = answer.body;
      expect({ type, status, instance }).to.deep.equal({ type: 'about:blank', status: 422, instance: persons });
      expect(title).to.be.a('string').and.not.empty;
      expect(detail).to.match(/^Person\.people\.example\.com "x" is invalid: spec\.age: /);
      expect(causes).to.have.length(1);
      expect(causes[0]).to.include({ reason: 'FieldValueInvalid', field: 'spec.age' });
    });

    it('is used only for errors: objects are returned as application/json', async () => {
      const answer = await server.get(ann, { accept: 'application/problem+json, application/json' });
      expect([answer.status, answer.headers['content-type']]).to.deep.equal([200, 'application/json']);
      expect((await server.get(ann, { accept: 'application/problem+json' })).body.kind).to.equal('Person');
    });
  });

  it('returns an audit-id in every response: that of the request, or a new one if the request has no well-formed audit-id', async () => {
    expect((await server.get(`${persons}/nobody`)).headers['audit-id']).to.match(/^[0-9a-f-]{36}$/);
    expect((await server.get(ann, { 'audit-id': 'my-id.1' })).headers['audit-id']).to.equal('my-id.1');
    expect((await server.get(ann, { 'audit-id': 'no good' })).headers['audit-id']).to.not.equal('no good');
    const { status } = await server.post(machines, newMachine('m'), { headers: { 'audit-id': 'x' } });
    expect(status).to.equal(201);
  });
});
