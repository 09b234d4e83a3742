import { expect } from 'chai';
import { ApiError, type Preconditions } from '../../api/index.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Client } from '../client.ts';
import { Person, person, personList, personsPath } from '../example-person.fixture.ts';
import { createClient } from '../../create-client.ts';
import { RecordingClock } from '../recording-clock.fixture.ts';
import { createRecordingLogger } from '../recording-logger.fixture.ts';
import { ScriptedServer } from '../scripted-server.fixture.ts';

const failureOf = async (promise: Promise<unknown>): Promise<ApiError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(Error);
  return error as ApiError;
};

describe('createClient', () => {
  const logger = createRecordingLogger();
  let clock: RecordingClock;
  let server: ScriptedServer;
  let client: Client;

  beforeEach(async () => {
    clock = new RecordingClock();
    server = await ScriptedServer.start();
    client = createClient(server.url, { clock, logger, token: 'secret', headers: { 'x-test': 'yes' } });
  });

  afterEach(async () => {
    await server.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  const lastRequest = () => server.requests.at(-1);

  describe('requests', () => {
    it('gets one object, which is deeply frozen, and sends the token and the headers', async () => {
      server.answer({ body: person('alice', '5') });
      const alice = await client.get(Person, 'alice', { resourceVersion: '0' });
      expect(lastRequest()).to.include({ method: 'GET', path: `${personsPath}/alice?resourceVersion=0` });
      expect(lastRequest()?.headers).to.include({ authorization: 'Bearer secret', 'x-test': 'yes' });
      expect(() => Object.assign(alice.spec, { name: 'bob' })).to.throw(TypeError);
    });

    it('sends a parameter for each option of a list, and one for each element of the option sort', async () => {
      server.answer({ body: personList('9', [person('alice', '5')]) });
      const list = await client.list(Person, {
        labelSelector: 'a in (b,c)',
        fieldSelector: 'spec.name=x',
        page: 2,
        size: 3,
        sort: ['spec.name,asc', 'spec.age,desc'],
      });
      expect(list.items.map((item) => item.metadata.name)).to.deep.equal(['alice']);
      const query = new URL(lastRequest()?.path ?? '', server.url).searchParams;
      expect([...query]).to.deep.equal([
        ['labelSelector', 'a in (b,c)'],
        ['fieldSelector', 'spec.name=x'],
        ['sort', 'spec.name,asc'],
        ['sort', 'spec.age,desc'],
        ['page', '2'],
        ['size', '3'],
      ]);
    });

    it('creates an object with the apiVersion and kind of the model, and sends the write options as parameters', async () => {
      server.answer({ status: 201, body: person('alice', '5') });
      const options = { dryRun: true, fieldValidation: 'Strict', fieldManager: 'me' } as const;
      await client.create(Person, { metadata: { name: 'alice' }, spec: { name: 'A' } }, options);
      expect(lastRequest()).to.deep.include({
        method: 'POST',
        path: `${personsPath}?dryRun=All&fieldValidation=Strict&fieldManager=me`,
        body: {
          apiVersion: 'people.example.com/v1alpha1',
          kind: 'Person',
          metadata: { name: 'alice' },
          spec: { name: 'A' },
        },
      });
    });

    it('sends a patch with its media type to the requested subresource', async () => {
      server.answer({ body: person('alice', '6') });
      await client.patch(Person, 'alice', { type: 'merge', patch: { status: {} } }, { subresource: 'status' });
      expect(lastRequest()).to.include({ method: 'PATCH', path: `${personsPath}/alice/status` });
      expect(lastRequest()?.headers['content-type']).to.equal('application/merge-patch+json');
      server.answer({ body: person('alice', '7') });
      const operations = [{ op: 'remove', path: '/spec/age' }] as const;
      await client.patch(Person, 'alice', { type: 'json', operations });
      expect(lastRequest()?.headers['content-type']).to.equal('application/json-patch+json');
      expect(lastRequest()?.body).to.deep.equal(operations);
    });

    it('updateStatus sends only the status, with uid and resourceVersion as preconditions', async () => {
      const known = createClient(server.url, { clock, models: [Person] });
      server.answer({ body: person('alice', '6') });
      await known.updateStatus(person('alice', '5'), { greeting: 'hi' });
      expect(lastRequest()).to.deep.include({
        method: 'PUT',
        path: `${personsPath}/alice/status`,
        body: {
          apiVersion: 'people.example.com/v1alpha1',
          kind: 'Person',
          metadata: { name: 'alice', uid: 'uid-alice', resourceVersion: '5' },
          status: { greeting: 'hi' },
        },
      });
    });

    it('delete returns the object if finalizers still keep it, and undefined if the server has removed it', async () => {
      server.answer({ body: person('alice', '6') });
      const options = { preconditions: { uid: 'u' }, propagationPolicy: 'Orphan', dryRun: true } as const;
      expect((await client.delete(Person, 'alice', options))?.metadata.name).to.equal('alice');
      expect(lastRequest()?.path).to.equal(`${personsPath}/alice?dryRun=All`);
      expect(lastRequest()?.body).to.deep.include({ dryRun: ['All'], propagationPolicy: 'Orphan' });
      server.answer({ body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } });
      expect(await client.delete(Person, 'alice')).to.equal(undefined);
    });

    it('puts the path of the server’s URL before /apis', async () => {
      server.answer({ body: person('alice', '6') });
      await createClient(`${server.url}/behind/proxy/`, { clock }).get(Person, 'alice');
      expect(lastRequest()?.path).to.equal(`/behind/proxy${personsPath}/alice`);
    });

    it('sends no request for a name that no object can have', async () => {
      for (const name of ['', '..', 'a/b', 'a%2fb', 'a?b', 'A']) {
        expect((await failureOf(client.get(Person, name))).reason).to.equal('BadRequest');
      }
      expect(server.requests).to.have.length(0);
    });

    it('refuses a namespace for a Cluster-scoped kind', async () => {
      expect((await failureOf(client.get(Person, 'a', { namespace: 'b' }))).reason).to.equal('BadRequest');
    });
  });

  describe('the look-up of models by apiVersion and kind', () => {
    const discovery = {
      kind: 'APIResourceList',
      resources: [
        { name: 'persons/status', kind: 'Person', namespaced: true },
        { name: 'persons', kind: 'Person', namespaced: true },
      ],
    };

    it('requests discovery only once for a kind whose model the client does not have', async () => {
      const object = person('alice', '5');
      const namespaced = { ...object, metadata: { ...object.metadata, namespace: 'blue' } };
      server.answer({ body: discovery });
      server.answer({ body: namespaced });
      server.answer({ body: namespaced });
      await client.update(namespaced);
      await client.update(namespaced);
      const path = '/apis/people.example.com/v1alpha1/namespaces/blue/persons/alice';
      expect(server.requests.map((request) => request.path)).to.deep.equal([
        '/apis/people.example.com/v1alpha1',
        path,
        path,
      ]);
    });

    it('requests no discovery for a kind whose model was passed to an earlier call', async () => {
      server.answer({ body: person('alice', '5') });
      server.answer({ body: person('alice', '6') });
      await client.update(await client.get(Person, 'alice'));
      expect(lastRequest()).to.include({ method: 'PUT', path: `${personsPath}/alice` });
      expect(server.requests).to.have.length(2);
    });

    it('rejects with NotFound for a kind that the server does not have', async () => {
      server.answer({ body: { resources: [] } });
      expect((await failureOf(client.update(person('alice', '5')))).reason).to.equal('NotFound');
    });

    it('sends no request for a malformed apiVersion', async () => {
      const strange = { ...person('alice', '5'), apiVersion: '../../secrets' };
      expect((await failureOf(client.update(strange))).reason).to.equal('BadRequest');
      expect(server.requests).to.have.length(0);
    });
  });

  describe('failures', () => {
    it('rejects with the error that the Status describes, with its causes', async () => {
      const causes = [{ reason: 'FieldValueInvalid', message: 'too old', field: 'spec.age' } as const];
      const invalid = new ApiError('Invalid', 'is invalid', { causes, details: { name: 'alice' } });
      server.answer({ status: 422, body: invalid.toStatus() });
      const error = await failureOf(client.get(Person, 'alice'));
      expect(error).to.deep.include({ reason: 'Invalid', code: 422, message: 'is invalid', causes });
    });

    it('derives the error from the status code of a response that is not a Status', async () => {
      server.answer({ status: 404, body: '<html>nothing here</html>' });
      const error = await failureOf(client.get(Person, 'alice'));
      expect(error.reason).to.equal('NotFound');
      expect(error.message).to.equal(`GET ${personsPath}/alice got 404 Not Found`);
    });

    it('reports a 409 without a Status as AlreadyExists for a creation, and as Conflict for an update', async () => {
      server.answer({ status: 409 });
      const creation = client.create(Person, { metadata: { name: 'a' }, spec: { name: 'a' } });
      expect((await failureOf(creation)).reason).to.equal('AlreadyExists');
      server.answer({ status: 409 });
      expect((await failureOf(client.update(person('a', '1')))).reason).to.equal('Conflict');
    });

    it('reports a Conflict when a server of Kubernetes refuses the uid in a patch as an immutable field', async () => {
      const causes = [{ reason: 'FieldValueInvalid', message: 'field is immutable', field: 'metadata.uid' } as const];
      const refused = new ApiError('Invalid', 'metadata.uid: field is immutable', { causes });
      server.answer({ status: 422, body: refused.toStatus() });
      const preconditions = { uid: 'a', resourceVersion: '5' };
      const patch = { type: 'merge', patch: { spec: { age: 7 } } } as const;
      const error = await failureOf(client.patch(Person, 'alice', patch, { preconditions }));
      expect(error).to.include({ reason: 'Conflict', code: 409 });
      expect(lastRequest()?.body).to.deep.equal({ spec: { age: 7 }, metadata: preconditions });
      expect(lastRequest()?.headers).to.include({ 'homeostat-preconditions': 'uid=a&resourceVersion=5' });
      server.answer({ status: 422, body: refused.toStatus() });
      expect((await failureOf(client.patch(Person, 'alice', patch))).reason).to.equal('Invalid');
    });

    it('sends no precondition whose value is undefined', async () => {
      const patch = { type: 'merge', patch: { spec: { age: 7 } } } as const;
      for (const [given, sent] of [
        [{ uid: undefined }, undefined],
        [{ uid: undefined, resourceVersion: '5' }, 'resourceVersion=5'],
      ] as const) {
        server.answer({ body: person('alice', '6') });
        await client.patch(Person, 'alice', patch, { preconditions: given as unknown as Preconditions });
        expect(lastRequest()?.headers['homeostat-preconditions']).to.equal(sent);
        const metadata = sent === undefined ? {} : { metadata: { resourceVersion: '5' } };
        expect(lastRequest()?.body).to.deep.equal({ spec: { age: 7 }, ...metadata });
      }
    });

    it('treats a huge error page as a response without a Status', async () => {
      server.answer({ status: 403, body: 'x'.repeat(2_000_000) });
      expect((await failureOf(client.get(Person, 'alice'))).reason).to.equal('Forbidden');
    });

    it('rejects a successful response that is not a JSON object', async () => {
      server.answer({ body: '<html>welcome</html>' });
      expect((await failureOf(client.get(Person, 'alice'))).reason).to.equal('InternalError');
    });

    it('does not follow a redirect', async () => {
      server.answer({ status: 307, headers: { location: '/elsewhere' } });
      const error = await failureOf(client.get(Person, 'alice'));
      expect(error.message).to.match(/got 307/);
      expect(server.requests).to.have.length(1);
    });

    it('rejects with ServiceUnavailable and the cause when no server listens', async () => {
      // The test uses port 2, because no other process listens on it; another process could take a port that was free a
      // moment ago. fetch refuses port 1, but not port 2.
      const error = await failureOf(createClient('http://127.0.0.1:2', { clock }).get(Person, 'alice'));
      expect(error.reason).to.equal('ServiceUnavailable');
      expect(error.message).to.match(/ECONNREFUSED/);
      expect(error.cause).to.be.instanceOf(TypeError);
    });

    it('rejects with Timeout after requestTimeoutMs, and closes the connection', async () => {
      const closed = server.stall();
      const failure = failureOf(client.get(Person, 'alice'));
      await eventually(() => server.requests.length === 1);
      await clock.advance(30_000);
      expect((await failure).reason).to.equal('Timeout');
      await closed;
    });

    it('rejects with the reason of the signal when the signal aborts, and closes the connection', async () => {
      const closed = server.stall();
      const caller = new AbortController();
      const failure = failureOf(client.get(Person, 'alice', { signal: caller.signal }));
      await eventually(() => server.requests.length === 1);
      caller.abort(new Error('enough'));
      expect((await failure).message).to.equal('enough');
      await closed;
    });

    it('passes the warnings of the server to the logger', async () => {
      server.answer({
        body: person('alice', '1'),
        headers: { warning: '299 - "unknown field \\"spec.bogus\\"", 299 - "deprecated"' },
      });
      await client.get(Person, 'alice');
      expect(logger.entries.map(({ fields }) => fields['warning'])).to.deep.equal([
        'unknown field "spec.bogus"',
        'deprecated',
      ]);
    });
  });

  describe('429 and 503 with Retry-After', () => {
    const refusal = { status: 429, headers: { 'retry-after': '2' } };

    it('a 429 or 503 causes a retry after the time that Retry-After requests, for writes and for reads', async () => {
      server.answer(refusal);
      server.answer({ status: 503, headers: { 'retry-after': '1' } });
      server.answer({ status: 201, body: person('alice', '1') });
      const created = client.create(Person, { metadata: { name: 'alice' }, spec: { name: 'A' } });
      await eventually(() => clock.delaysMs.includes(2000));
      await clock.advance(1999);
      expect(server.requests).to.have.length(1);
      await clock.advance(1);
      await eventually(() => server.requests.length === 2);
      await advanceUntil(created, 500);
      expect(server.requests).to.have.length(3);
    });

    it('a 429 or 503 without the header Retry-After causes no retry', async () => {
      server.answer({ status: 503 });
      expect((await failureOf(client.get(Person, 'alice'))).reason).to.equal('ServiceUnavailable');
      expect(server.requests).to.have.length(1);
    });

    it('a Retry-After of more than a minute causes no retry', async () => {
      server.answer({ status: 429, headers: { 'retry-after': '61' } });
      expect((await failureOf(client.get(Person, 'alice'))).retryAfterSeconds).to.equal(61);
    });

    it('the request rejects with the error of the server after ten retries', async () => {
      for (let answer = 0; answer < 12; answer += 1) server.answer(refusal);
      const failure = failureOf(client.get(Person, 'alice'));
      await advanceUntil(failure, 1000);
      expect((await failure).reason).to.equal('TooManyRequests');
      expect(server.requests).to.have.length(11);
    });

    it('the request is not retried after the signal has aborted', async () => {
      server.answer(refusal);
      const caller = new AbortController();
      const failure = failureOf(client.get(Person, 'alice', { signal: caller.signal }));
      await eventually(() => clock.delaysMs.includes(2000));
      caller.abort();
      expect((await failure).name).to.equal('AbortError');
    });
  });

  /** Advances the clock in steps until the promise has settled. A step must be shorter than the request time-out. */
  async function advanceUntil(promise: Promise<unknown>, stepMs: number): Promise<void> {
    let settled = false;
    const settle = (): void => void (settled = true);
    promise.then(settle, settle);
    await eventually(async () => {
      await clock.advance(stepMs);
      return settled;
    });
  }

  it('makes only one attempt when a write fails with a status code other than 429 and 503', async () => {
    server.answer({ status: 500 });
    const creation = client.create(Person, { metadata: { name: 'a' }, spec: { name: 'a' } });
    expect((await failureOf(creation)).reason).to.equal('InternalError');
    expect(server.requests).to.have.length(1);
  });

  it('throws on a malformed URL, and on times that are not above 0', () => {
    expect(() => createClient('no url')).to.throw(TypeError);
    expect(() => createClient('http://localhost', { requestTimeoutMs: 0 })).to.throw(RangeError);
  });

  it('refuses certificates and keys that are missing, cannot be read, or would not be used', () => {
    const certificate = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
    for (const [url, options, problem] of [
      ['http://localhost', { ca: certificate('AAAA') }, 'ca: cannot be used over http:'],
      ['https://localhost', { ca: 'ca.crt' }, 'ca: holds no certificate in PEM'],
      ['https://localhost', { ca: certificate('AAAA') }, 'ca: holds a certificate that cannot be read'],
      ['http://localhost', { cert: 'a', key: 'b' }, 'cert: cannot be used over http:'],
      ['https://localhost', { key: 'b' }, 'cert: is missing, but there is a key'],
      ['https://localhost', { cert: 'a' }, 'key: is missing, but there is a certificate'],
      ['https://localhost', { cert: 'a', key: 'b' }, 'cert: holds no certificate in PEM'],
      ['https://localhost', { ca: certificate('AAAA'), fetch }, 'ca: cannot be combined with the option fetch'],
    ] as const) {
      expect(() => createClient(url, options)).to.throw(TypeError, problem);
    }
  });
});
