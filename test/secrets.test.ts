import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const configMaps = '/api/v1/namespaces/default/configmaps';
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function secret(name: string, fields: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata }, ...fields };
}

function configMap(name: string, fields: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...fields };
}

function messagesOf({ body }: Answer): string[] {
  const causes = (body.details?.causes ?? []) as { field: string; message: string }[];
  return causes.map(({ field, message }) => `${field}: ${message}`);
}

describe('Secrets', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  it('store data in base64, add the texts of stringData to data, and have the default type Opaque', async () => {
    const sent = secret('first', { data: { a: base64('1'), b: base64('2') }, stringData: { b: 'two', c: 'ü' } });
    const created = await server.post(secrets, sent);
    expect(created.status, created.text).to.equal(201);
    const data = { a: base64('1'), b: base64('two'), c: base64('ü') };
    expect(created.body).to.deep.include({ type: 'Opaque', data }).and.not.to.have.property('stringData');
    const { body } = await server.get(`${secrets}/first`);
    expect(body).to.deep.equal(created.body);
    const patched = await server.patch(`${secrets}/first`, { stringData: { a: 'one' }, data: { c: null } });
    expect(patched.body.data).to.deep.equal({ a: base64('one'), b: base64('two') });
    const put = await server.put(`${secrets}/first`, secret('first', { stringData: { only: 'x' } }));
    expect(put.body.data).to.deep.equal({ only: base64('x') });
    expect(put.body).not.to.have.property('stringData');
  });

  it('accept an apply with stringData, and a later apply with data', async () => {
    const headers = { type: 'application/apply-patch+yaml' };
    const path = `${secrets}/applied?fieldManager=test`;
    const first = await server.patch(path, secret('applied', { stringData: { a: '1', b: '2' } }), headers);
    expect(first.status, first.text).to.equal(201);
    expect(first.body.data).to.deep.equal({ a: base64('1'), b: base64('2') });
    const second = await server.patch(path, secret('applied', { data: { a: base64('3') } }), headers);
    expect(second.status, second.text).to.equal(200);
    expect(second.body.data['a']).to.equal(base64('3'));
    expect(JSON.stringify(second.body.metadata.managedFields)).to.include('f:data');
  });

  it('accept base64 with line breaks; the messages about invalid values do not contain the values', async () => {
    const broken = await server.post(secrets, secret('lines', { data: { a: 'cGxh\r\nbnRlZA==\n' } }));
    expect(broken.body.data).to.deep.equal({ a: base64('planted') });
    const wrong = [
      { data: { a: 'planted?' } },
      { data: { a: 'planted' } },
      { data: { a: 'pl=nted=' } },
      { data: { a: 4711 } },
      { data: 'planted' },
      { data: ['planted'] },
      { stringData: { a: { planted: 1 } } },
      { stringData: 'planted' },
      { type: { planted: 1 } },
      { immutable: 'planted' },
    ];
    for (const fields of wrong) {
      const answer = await server.post(secrets, secret('wrong', fields));
      expectRefusal(answer, {
        reason: 'BadRequest',
        message: 'Secret in version "v1" cannot be handled as a Secret: ',
      });
      expect(answer.text).not.to.match(/planted|pl=nted|4711/);
    }
    const illegal = await server.post(secrets, secret('wrong', { data: { a: 'planted?' } }));
    expect(illegal.body.message).to.include('data["a"]: illegal base64 data at input byte 7');
  });

  it('are limited in their keys and sizes as in Kubernetes', async () => {
    const long = 'k'.repeat(254);
    const answer = await server.post(
      secrets,
      secret('keys', { stringData: { 'a b': '', '..x': '', '.': '', [long]: '' } }),
    );
    expectRefusal(answer, {
      reason: 'Invalid',
      causes: ['a b', '..x', '.', long.slice(0, 251)].map(
        (key) => `FieldValueInvalid data[${key}${key.length > 250 ? '…' : ']'}`,
      ),
    });
    expect(messagesOf(answer)[0]).to.equal(
      `data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
    );
    const fits = await server.post(secrets, secret('fits', { stringData: { a: 'x'.repeat(1024 * 1024) } }));
    expect(fits.status, fits.text.slice(0, 300)).to.equal(201);
    const large = await server.post(secrets, secret('large', { stringData: { a: 'x'.repeat(1024 * 1024), b: 'x' } }));
    expectRefusal(large, {
      reason: 'Invalid',
      causes: ['FieldValueTooLong data'],
      message: 'may not be more than 1048576 bytes',
    });
  });

  it('never change their type, and keep their data once they are immutable', async () => {
    await server.create(secrets, secret('typed', { type: 'example.com/token', stringData: { a: 'planted' } }));
    const path = `${secrets}/typed`;
    const retyped = await server.patch(path, { type: 'Opaque' });
    expectRefusal(retyped, { reason: 'Invalid', causes: ['FieldValueInvalid type'], message: 'field is immutable' });
    // As in Kubernetes, an absent type in an update means the stored type.
    expect((await server.put(path, secret('typed', { stringData: { a: 'planted' } }))).body.type).to.equal(
      'example.com/token',
    );
    expect((await server.patch(path, { immutable: true })).status).to.equal(200);
    const changed = await server.patch(path, { stringData: { a: 'planted too' }, immutable: false });
    expectRefusal(changed, {
      reason: 'Invalid',
      causes: ['FieldValueForbidden immutable', 'FieldValueForbidden data'],
    });
    expect(messagesOf(changed)).to.deep.equal([
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
    expect(changed.text).not.to.include('planted');
    expect((await server.patch(path, { metadata: { labels: { a: 'b' } } })).status).to.equal(200);
    expect((await server.delete(path)).status).to.equal(200);
  });

  const json = base64('{"auths":{}}');
  const types: Record<string, { readonly good: object; readonly bad: object; readonly causes: readonly string[] }> = {
    'kubernetes.io/tls': {
      good: { 'tls.crt': '', 'tls.key': '' },
      bad: { 'tls.crt': '' },
      causes: ['data[tls.key]: Required value'],
    },
    'kubernetes.io/basic-auth': {
      good: { password: '' },
      bad: {},
      causes: ['data[username]: Required value', 'data[password]: Required value'],
    },
    'kubernetes.io/ssh-auth': {
      good: { 'ssh-privatekey': base64('x') },
      bad: { 'ssh-privatekey': '' },
      causes: ['data[ssh-privatekey]: Required value'],
    },
    'kubernetes.io/dockerconfigjson': {
      good: { '.dockerconfigjson': json },
      bad: { '.dockerconfigjson': base64('planted') },
      causes: ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be valid JSON'],
    },
    'kubernetes.io/dockercfg': { good: { '.dockercfg': json }, bad: {}, causes: ['data[.dockercfg]: Required value'] },
    'bootstrap.kubernetes.io/token': { good: {}, bad: { '~': '' }, causes: [] },
  };
  for (const [type, { good, bad, causes }] of Object.entries(types)) {
    it(`of type ${type} must have the data that the type requires`, async () => {
      const name = type.replace(/\W/g, '-');
      expect((await server.post(secrets, secret(name, { type, data: good }))).status).to.equal(201);
      const refused = await server.post(secrets, secret(`${name}2`, { type, data: bad }));
      expect(refused.status).to.equal(422);
      expect(refused.text).not.to.include('planted');
      expect(messagesOf(refused)).to.include.members(causes as string[]);
    });
  }

  it('of the type of service account tokens must name the account', async () => {
    const type = 'kubernetes.io/service-account-token';
    const refused = await server.post(secrets, secret('account', { type }));
    expect(messagesOf(refused)).to.deep.equal([
      'metadata.annotations[kubernetes.io/service-account.name]: Required value',
    ]);
    const annotations = { 'kubernetes.io/service-account.name': 'robot' };
    expect((await server.post(secrets, secret('account', { type }, { annotations }))).status).to.equal(201);
  });

  it('appear in tables as Kubernetes shows them, and are selected by type [spec operators-columns]', async () => {
    await server.create(
      secrets,
      secret('shown', { type: 'example.com/shown', stringData: { a: 'planted', b: 'planted' } }),
    );
    const path = `${secrets}?fieldSelector=type%3Dexample.com/shown`;
    const { body } = await server.get(path, table);
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).to.deep.equal([
      'Name',
      'Type',
      'Data',
      'Age',
    ]);
    expect(body.rows.map(({ cells }: { cells: unknown[] }) => cells.slice(0, 3))).to.deep.equal([
      ['shown', 'example.com/shown', 2],
    ]);
    expect(JSON.stringify(body)).not.to.match(/planted|cGxhbnRlZ/);
  });
});

describe('ConfigMaps', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  it('have text in data and bytes in binaryData, under different keys', async () => {
    const created = await server.post(configMaps, configMap('both', { data: { a: '1' }, binaryData: { b: '//4=' } }));
    expect(created.status, created.text).to.equal(201);
    expect(created.body).to.deep.include({ data: { a: '1' }, binaryData: { b: '//4=' } });
    const { body } = await server.get(`${configMaps}/both`, table);
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).to.deep.equal(['Name', 'Data', 'Age']);
    expect(body.rows[0].cells.slice(0, 2)).to.deep.equal(['both', 2]);
    const double = await server.post(configMaps, configMap('double', { data: { a: '1' }, binaryData: { a: '//4=' } }));
    expect(messagesOf(double)).to.deep.equal(['data[a]: Invalid value: "a": duplicate of key present in binaryData']);
    const broken = await server.post(configMaps, configMap('broken', { binaryData: { a: '?' } }));
    expectRefusal(broken, {
      reason: 'BadRequest',
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ',
    });
  });

  it('are limited in their keys and sizes as in Kubernetes, and keep their data once they are immutable', async () => {
    const keys = await server.post(configMaps, configMap('keys', { data: { 'a/b': '' }, binaryData: { '..': '' } }));
    expectRefusal(keys, {
      reason: 'Invalid',
      causes: ['FieldValueInvalid data[a/b]', 'FieldValueInvalid binaryData[..]'],
    });
    const half = 'x'.repeat(512 * 1024);
    const large = { data: { a: half, b: 'x' }, binaryData: { c: base64(half) } };
    expectRefusal(await server.post(configMaps, configMap('large', large)), {
      reason: 'Invalid',
      causes: ['FieldValueTooLong []'],
    });
    await server.create(configMaps, configMap('fixed', { data: { a: '1' }, immutable: true }));
    const changed = await server.patch(`${configMaps}/fixed`, { data: { a: '2' }, binaryData: { b: '' } });
    expect(messagesOf(changed)).to.deep.equal([
      'data: Forbidden: field is immutable when `immutable` is set',
      'binaryData: Forbidden: field is immutable when `immutable` is set',
    ]);
    expect((await server.patch(`${configMaps}/fixed`, { metadata: { labels: { a: 'b' } } })).status).to.equal(200);
  });
});

describe('Secrets and ConfigMaps in protobuf [compat protobuf]', () => {
  it('are decoded from the bytes that typed clients in Go send', async () => {
    const server = await TestServer.start();
    const field = (number: number, bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
    const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
    const entry = (key: string, value: Buffer): Buffer => Buffer.concat([text(1, key), field(2, value)]);
    const envelope = (kind: string, raw: Buffer): Buffer =>
      Buffer.concat([Buffer.from('k8s\0'), field(1, Buffer.concat([text(1, 'v1'), text(2, kind)])), field(2, raw)]);
    const options = { type: 'application/vnd.kubernetes.protobuf' };
    const values = [text(1, 'typed'), entry('bytes', Buffer.from([0xff, 0])), entry('text', Buffer.from('t'))] as const;
    const [name, bytes, word] = values;
    const raw = Buffer.concat([
      field(1, name),
      field(2, bytes),
      text(3, 'example.com/x'),
      field(4, word),
      Buffer.from([40, 1]),
    ]);
    const created = await server.post(secrets, envelope('Secret', raw), options);
    expect(created.status, created.text).to.equal(201);
    expect(created.body).to.deep.include({
      type: 'example.com/x',
      immutable: true,
      data: { bytes: '/wA=', text: 'dA==' },
    });
    const map = Buffer.concat([field(1, name), field(2, word), field(3, bytes)]);
    const written = await server.post(configMaps, envelope('ConfigMap', map), options);
    expect(written.body).to.deep.include({ data: { text: 't' }, binaryData: { bytes: '/wA=' } });
    await server.stop();
  });
});
