import { readFileSync } from 'node:fs';
import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { decodeProtobufObject } from './decode-object.ts';
import { deleteOptionsMessage, messageOf } from './object-messages.ts';

interface Recorded {
  readonly client: string;
  readonly base64: string;
}

const file = new URL('../../../test/vectors/protobuf-bodies.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Recorded[] };

const authorization = { group: 'authorization.k8s.io', version: 'v1' };
const authentication = { group: 'authentication.k8s.io', version: 'v1' };
const lease = { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease' };
const namespace = { group: '', version: 'v1', kind: 'Namespace' };

/** The object in each recorded body, as Kubernetes writes it in JSON. */
const expected: Readonly<Record<string, readonly [gvk: typeof lease, object: object]>> = {
  'auth can-i': [
    { ...authorization, kind: 'SelfSubjectAccessReview' },
    {
      metadata: {},
      spec: {
        resourceAttributes: { namespace: 'default', verb: 'get', group: 'demo.example.com', resource: 'persons' },
      },
    },
  ],
  'auth can-i --list': [
    { ...authorization, kind: 'SelfSubjectRulesReview' },
    { metadata: {}, spec: { namespace: 'default' } },
  ],
  'auth whoami': [{ ...authentication, kind: 'SelfSubjectReview' }, { metadata: {} }],
  'create ns': [namespace, { metadata: { name: 'foo' }, spec: {}, status: {} }],
  'create token': [
    { ...authentication, kind: 'TokenRequest' },
    { metadata: {}, spec: {} },
  ],
  'client-go leader election': [
    lease,
    {
      metadata: { name: 'op-lock', namespace: 'default' },
      spec: {
        holderIdentity: 'me',
        leaseDurationSeconds: 4,
        acquireTime: '2026-11-21T07:12:23.179533Z',
        renewTime: '2026-11-21T07:12:23.179533Z',
        leaseTransitions: 0,
      },
    },
  ],
};

function bodyOf(client: string): Buffer {
  return Buffer.from(cases.find((each) => each.client === client)?.base64 ?? '', 'base64');
}

function decode(gvk: typeof lease, body: Buffer): Record<string, unknown> {
  const message = messageOf(gvk);
  if (message === undefined) throw new Error(`${gvk.kind} has no message`);
  return decodeProtobufObject(message, body);
}

/** Encodes a field whose value is bytes or a string. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

function envelope(raw: Buffer, more: Buffer = Buffer.alloc(0)): Buffer {
  const type = Buffer.concat([field(1, 'v1'), field(2, 'Namespace')]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw), more]);
}

describe('decodeProtobufObject', () => {
  for (const { client, base64 } of cases) {
    it(`reads the recorded body of ${client}`, () => {
      const [gvk, object] = expected[client] as (typeof expected)[string];
      const apiVersion = gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`;
      const decoded = decode(gvk, Buffer.from(base64, 'base64'));
      expect(decoded).to.deep.equal({ ...object, apiVersion, kind: gvk.kind });
    });
  }

  it('reads maps, lists, flags and times of metadata, and ignores unknown field numbers', () => {
    const label = Buffer.concat([field(1, '__proto__'), field(2, 'a')]);
    const owner = Buffer.concat([field(1, 'Person'), field(4, 'u1'), Buffer.from([6 * 8, 1])]);
    const metadata = Buffer.concat([
      field(11, label),
      field(11, field(1, 'b')),
      field(13, owner),
      field(14, 'example.com/f'),
      field(14, 'example.com/g'),
      field(8, Buffer.from([8, 10])),
      Buffer.from([10 * 8, 0]),
      Buffer.from([0x9d, 6, 1, 2, 3, 4]),
    ]);
    const read = decode(namespace, envelope(field(1, metadata)))['metadata'] as Record<string, unknown>;
    expect(Object.entries(read['labels'] as object)).to.deep.equal([
      ['__proto__', 'a'],
      ['b', ''],
    ]);
    expect({ ...read, labels: undefined }).to.deep.equal({
      labels: undefined,
      ownerReferences: [{ kind: 'Person', uid: 'u1', controller: true }],
      finalizers: ['example.com/f', 'example.com/g'],
      creationTimestamp: '1970-01-01T00:00:10Z',
      deletionGracePeriodSeconds: 0,
    });
  });

  it('keeps the empty holderIdentity of a released Lease', () => {
    const spec = Buffer.concat([field(1, ''), Buffer.from([2 * 8, 1])]);
    expect(decode(lease, envelope(field(2, spec)))['spec']).to.deep.equal({
      holderIdentity: '',
      leaseDurationSeconds: 1,
    });
  });

  it('reads negative numbers in two’s complement', () => {
    const minusOne = Buffer.from([7 * 8, ...Array.from({ length: 9 }, () => 0xff), 1]);
    expect(decode(namespace, envelope(field(1, minusOne)))['metadata']).to.deep.equal({ generation: -1 });
  });

  it('reads the options of a deletion', () => {
    const preconditions = field(2, field(1, 'u1'));
    const options = decodeProtobufObject(
      deleteOptionsMessage,
      envelope(Buffer.concat([Buffer.from([8, 0]), preconditions, field(5, 'All')])),
    );
    expect(options).to.deep.include({ gracePeriodSeconds: 0, preconditions: { uid: 'u1' }, dryRun: ['All'] });
  });

  const refused: readonly (readonly [what: string, body: Buffer, message: RegExp])[] = [
    ['nothing', Buffer.alloc(0), /does not begin with "k8s"/],
    ['JSON', Buffer.from('{}'), /does not begin with "k8s"/],
    [
      'a body with a contentEncoding',
      envelope(Buffer.alloc(0), field(3, 'gzip')),
      /contentEncoding field of the body must be empty/,
    ],
    ['text that is not UTF-8', envelope(field(1, field(1, Buffer.from([0xff])))), /name is not valid UTF-8/],
    ['a field of another type', envelope(Buffer.from([8, 1])), /metadata has the wrong wire type/],
    ['a number that is text', envelope(field(1, field(7, 'x'))), /generation is no integer/],
    ['a length beyond the end', envelope(Buffer.from([10, 100])), /cut off/],
    ['a number of more than 64 bits', envelope(Buffer.from([8, ...new Array<number>(11).fill(0xff)])), /64 bits/],
    ['a number beyond 2^53', envelope(field(1, Buffer.from([56, ...new Array<number>(8).fill(0xff), 0x7f]))), /2\^53/],
    ['a group, which is not in use', envelope(Buffer.from([11])), /unknown wire type 3/],
    ['the field 0', envelope(Buffer.from([2, 0])), /number 0/],
    [
      'a time beyond the year 9999',
      envelope(field(1, field(8, Buffer.from([8, ...new Array<number>(7).fill(0xff), 1])))),
      /is not a time/,
    ],
  ];
  for (const [what, body, message] of refused) {
    it(`refuses ${what} with 400`, () => {
      expect(() => decode(namespace, body))
        .to.throw(message)
        .with.property('reason', 'BadRequest');
    });
  }

  it('reads a truncated or changed recorded body, or refuses it with 400', () => {
    for (const client of Object.keys(expected)) {
      const [gvk] = expected[client] as (typeof expected)[string];
      const body = bodyOf(client);
      const broken = [...body.keys()].flatMap((at) => [
        body.subarray(0, at),
        ...[0, 0x7f, 0x80, 0xff].map((byte) =>
          Buffer.concat([body.subarray(0, at), Buffer.from([byte]), body.subarray(at + 1)]),
        ),
      ]);
      for (const each of broken) {
        try {
          decode(gvk, each);
        } catch (error) {
          expect(isApiError(error) && error.reason, String(error)).to.equal('BadRequest');
        }
      }
    }
  });
});
