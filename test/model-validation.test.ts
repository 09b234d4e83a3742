import { AbstractExtension, ApiError, defineModel, GVK, Schema } from 'homeostat';
import type { FieldViolation, Logger, ModelDescriptor, ObjectOf } from 'homeostat';
import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const apiVersion = 'bookings.example.com/v1';
const bookings = `/apis/${apiVersion}/bookings`;
const rooms = `/apis/${apiVersion}/rooms`;

const schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['from', 'to'],
      properties: { from: { type: 'integer' }, to: { type: 'integer' }, guest: { type: 'string', default: 'nobody' } },
    },
    status: { type: 'object', properties: { phase: { enum: ['Held', 'Paid'] } } },
  },
} as const;

type Booking = ObjectOf<typeof schema>;

/**
 * A kind with a start and an end, whose order a schema cannot check. The field `guest` selects what `validate` does
 * wrong.
 */
const Booking = defineModel({
  gvk: `${apiVersion}/Booking`,
  plural: 'bookings',
  schema,
  validate: (next, previous) => judge(next, previous),
});

const calls: { readonly next: Booking; readonly previous: Booking | undefined }[] = [];

function judge(next: Booking, previous: Booking | undefined): readonly FieldViolation[] | undefined {
  calls.push({ next, previous });
  misbehave(next);
  const violations: FieldViolation[] = [];
  if (next.spec.from >= next.spec.to)
    violations.push({ field: 'spec.to', message: 'Invalid value: must be after spec.from' });
  if (previous !== undefined && previous.spec.from !== next.spec.from)
    violations.push({ field: 'spec.from', message: 'Forbidden: field is immutable', reason: 'FieldValueForbidden' });
  if (previous?.status?.phase === 'Paid' && next.status?.phase === 'Held')
    violations.push({ field: 'status.phase', message: 'Invalid value: what is paid stays paid' });
  return violations.length === 0 ? undefined : violations;
}

function misbehave({ spec, metadata }: Booking): void {
  if (spec.guest === 'throws') throw new Error('validate broke');
  if (spec.guest === 'throws a text') throw 'no error' as unknown as Error;
  if (spec.guest === 'throws a Conflict') throw new ApiError('Conflict', 'not now');
  if (spec.guest === 'is invalid') {
    const causes = [{ reason: 'FieldValueNotSupported', field: 'spec.guest', message: 'Unsupported value' }] as const;
    throw new ApiError('Invalid', 'the guest is not supported', { causes });
  }
  if (spec.guest === 'mutates') (spec as { guest: string }).guest = 'changed';
  if (spec.guest === 'mutates metadata') (metadata.labels as Record<string, string>)['example.com/x'] = 'y';
}

/** Returns a kind whose `validate` returns the result of `answer`, which may be any value. */
function answering(kind: string, answer: () => unknown): ModelDescriptor {
  return defineModel({
    group: 'bookings.example.com',
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } },
    validate: answer as () => undefined,
  });
}

async function rejecting(): Promise<never> {
  throw new Error('too late');
}

@Schema({ name: 'RoomSpec' })
class RoomSpec {
  @Schema({ type: 'integer' }) beds!: number;
  @Schema({ type: 'integer' }) guests!: number;
}

@GVK({ group: 'bookings.example.com', version: 'v1', kind: 'Room', plural: 'rooms' })
class Room extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: () => RoomSpec }) spec!: RoomSpec;

  static readonly most = 2;

  static validate({ spec }: Room): readonly FieldViolation[] {
    const most = spec.beds * this.most;
    return spec.guests <= most ? [] : [{ field: 'spec.guests', message: `Invalid value: at most ${most}` }];
  }
}

const booking = (name: string, spec: object = {}, metadata: object = {}): Record<string, unknown> => ({
  apiVersion,
  kind: 'Booking',
  metadata: { name, ...metadata },
  spec: { from: 1, to: 2, ...spec },
});

describe("a model's own validation", () => {
  const warnings: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = [];
  const nothing = (): void => undefined;
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    error: nothing,
    warn: (fields, message) => void warnings.push({ fields, message }),
  };
  const answers = new Map<string, () => unknown>([
    ['Null', () => null],
    ['Empty', () => []],
    ['Many', () => Array.from({ length: 150 }, (_, index) => ({ field: `spec.f${index}`, message: 'x'.repeat(1000) }))],
    ['Number', () => 7],
    ['Text', () => 'spec.size is wrong'],
    ['Words', () => ['spec.size is wrong']],
    ['Fieldless', () => [{ message: 'wrong' }]],
    ['Later', rejecting],
  ]);
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ logger });
    const models = [Booking, Room, ...[...answers].map(([kind, answer]) => answering(kind, answer))];
    const owned = server.api.schemeManager.forOwner('bookings');
    for (const model of models) await server.api.whenReady(owned.register<never>(model as never).descriptor);
  });

  beforeEach(async () => {
    await server.delete(bookings);
    calls.length = 0;
    warnings.length = 0;
  });

  after(() => server.stop());

  const seenBy = (at: number) => calls.at(at);

  /** Checks that a write is refused as expected, and that nothing is stored. */
  async function expectNothingStored(
    work: () => Promise<Answer>,
    expected: Parameters<typeof expectRefusal>[1],
  ): Promise<void> {
    const before = await server.get(bookings);
    expectRefusal(await work(), expected);
    expect((await server.get(bookings)).text).to.equal(before.text);
  }

  it('refuses a creation, names the fields of the violations, and stores nothing', async () => {
    const details = { name: 'a', group: 'bookings.example.com', kind: 'Booking' };
    await expectNothingStored(() => server.post(bookings, booking('a', { to: 1 })), {
      reason: 'Invalid',
      message: /^Booking\.bookings\.example\.com "a" is invalid: spec\.to: Invalid value: must be after spec\.from$/,
      causes: ['FieldValueInvalid spec.to'],
      details,
    });
    expect((await server.post(bookings, booking('a'))).status).to.equal(201);
  });

  it('refuses an invalid change by PUT, merge patch or JSON patch, and reports all violations', async () => {
    await server.create(bookings, booking('a'));
    const expected = {
      reason: 'Invalid',
      causes: ['FieldValueInvalid spec.to', 'FieldValueForbidden spec.from'],
    } as const;
    const one = `${bookings}/a`;
    await expectNothingStored(() => server.put(one, booking('a', { from: 5 })), expected);
    await expectNothingStored(() => server.patch(one, { spec: { from: 5 } }), expected);
    const operations = [{ op: 'replace', path: '/spec/from', value: 5 }];
    await expectNothingStored(() => server.patch(one, operations, { type: 'application/json-patch+json' }), expected);
    await expectNothingStored(() => server.patch(`${one}?dryRun=All`, { spec: { from: 5 } }), expected);
    expect((await server.patch(one, { spec: { to: 9 } })).status).to.equal(200);
  });

  it('can refuse a write of the status, and receives the previous status', async () => {
    await server.create(bookings, booking('a'));
    const status = `${bookings}/a/status`;
    expect((await server.patch(status, { status: { phase: 'Paid' } })).status).to.equal(200);
    const expected = { reason: 'Invalid', causes: ['FieldValueInvalid status.phase'] } as const;
    await expectNothingStored(() => server.patch(status, { status: { phase: 'Held' } }), expected);
    await expectNothingStored(() => server.put(status, { ...booking('a'), status: { phase: 'Held' } }), expected);
  });

  it('receives the object as it would be stored, and the stored object of an update', async () => {
    await server.create(bookings, booking('a', {}, { labels: { 'example.com/x': 'y' } }));
    await server.patch(`${bookings}/a`, { spec: { to: 3 } });
    expect(calls).to.have.length(2);
    expect(seenBy(0)?.previous).to.equal(undefined);
    expect(seenBy(0)?.next.spec).to.deep.equal({ from: 1, to: 2, guest: 'nobody' });
    expect(seenBy(0)?.next.metadata).to.include({ name: 'a', version: 1, generation: 1 });
    expect(seenBy(1)?.previous?.spec).to.deep.equal({ from: 1, to: 2, guest: 'nobody' });
    expect(seenBy(1)?.next.spec.to).to.equal(3);
    expect(seenBy(1)?.next.metadata).to.include({ version: 2, generation: 2 });
  });

  it('is not called for objects that break the schema or the rules of metadata, for writes without changes, and for deletions', async () => {
    expectRefusal(await server.post(bookings, booking('a', { from: 'x', to: 1 })), {
      reason: 'Invalid',
      causes: ['FieldValueTypeInvalid spec.from'],
    });
    expectRefusal(await server.post(bookings, booking('A', { to: 1 })), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid metadata.name'],
    });
    expect(calls).to.have.length(0);
    const created = await server.create(bookings, booking('a', {}, { finalizers: ['example.com/hold'] }));
    await server.put(`${bookings}/a`, created);
    await server.delete(`${bookings}/a`);
    expect(calls).to.have.length(1);
    await server.patch(`${bookings}/a`, { metadata: { finalizers: null } });
    expect(calls).to.have.length(1);
    expect((await server.get(`${bookings}/a`)).status).to.equal(404);
  });

  it('cannot change the objects that it receives', async () => {
    for (const guest of ['mutates', 'mutates metadata']) {
      const labels = { 'example.com/x': 'x' };
      await expectNothingStored(() => server.post(bookings, booking('a', { guest }, { labels })), {
        reason: 'Invalid',
        message: "validate: Invalid value: the model's validate failed: Cannot assign to read only property",
        causes: ['FieldValueInvalid validate'],
      });
    }
    await server.create(bookings, booking('b'));
    await server.patch(`${bookings}/b`, { spec: { to: 3 } });
    expect(Object.isFrozen(seenBy(-1)?.previous?.metadata) && Object.isFrozen(seenBy(-1)?.previous?.spec)).to.equal(
      true,
    );
  });

  it('may throw an ApiError with the reason Invalid, which becomes the response', async () => {
    await expectNothingStored(() => server.post(bookings, booking('a', { guest: 'is invalid' })), {
      reason: 'Invalid',
      message: /^the guest is not supported$/,
      causes: ['FieldValueNotSupported spec.guest'],
    });
    expect(warnings).to.deep.equal([]);
  });

  for (const [guest, text] of [
    ['throws', 'validate broke'],
    ['throws a text', 'no error'],
    ['throws a Conflict', 'not now'],
  ] as const) {
    it(`refuses the write, and the failure is logged with the plugin, when validate ${guest}`, async () => {
      await server.create(bookings, booking('b'));
      const expected = {
        reason: 'Invalid',
        message: `validate: Invalid value: the model's validate failed: ${text}`,
        causes: ['FieldValueInvalid validate'],
      } as const;
      await expectNothingStored(() => server.post(bookings, booking('a', { guest })), expected);
      await expectNothingStored(() => server.patch(`${bookings}/b`, { spec: { guest } }), expected);
      expect(warnings).to.have.length(2);
      expect(warnings[0]?.fields).to.include({ owner: 'bookings', kind: 'Booking', group: 'bookings.example.com' });
    });
  }

  for (const [kind, text] of [
    ['Number', 'validate must return a list of violations, or nothing'],
    ['Text', 'validate must return a list of violations, or nothing'],
    ['Words', '"spec.size is wrong" is not a violation: it needs a field and a message'],
    ['Fieldless', '{"message":"wrong"} is not a violation'],
    ['Later', 'validate must be synchronous, but returned a Promise'],
  ] as const) {
    it(`refuses the write when validate returns a result of the wrong form, and the message explains the mistake: ${kind}`, async () => {
      const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
      const answer = await server.post(path, { apiVersion, kind, metadata: { name: 'a' } });
      expectRefusal(answer, { reason: 'Invalid', message: text, causes: ['FieldValueInvalid validate'] });
      expect((await server.get(path)).body.total).to.equal(0);
      expect(warnings.map(({ fields }) => fields['kind'])).to.deep.equal([kind]);
    });
  }

  it('may return null or an empty list; a response has at most 100 violations, with shortened messages', async () => {
    for (const kind of ['Null', 'Empty', 'Many']) {
      const answer = await server.post(`/apis/${apiVersion}/${kind.toLowerCase()}s`, {
        apiVersion,
        kind,
        metadata: { name: 'a' },
      });
      expect(answer.status, kind).to.equal(kind === 'Many' ? 422 : 201);
      if (kind !== 'Many') continue;
      expect(answer.body.details.causes).to.have.length(100);
      expect(answer.text.length).to.be.below(100_000);
    }
  });

  it('may be a static method of a model class, and is called with the class as `this`', async () => {
    const room = { apiVersion, kind: 'Room', metadata: { name: 'r' }, spec: { beds: 2, guests: 5 } };
    expectRefusal(await server.post(rooms, room), {
      reason: 'Invalid',
      message: 'spec.guests: Invalid value: at most 4',
      causes: ['FieldValueInvalid spec.guests'],
    });
    expect((await server.post(rooms, { ...room, spec: { beds: 3, guests: 5 } })).status).to.equal(201);
  });

  it('applies to clients in process', async () => {
    const refused: unknown = await server.api.client
      .create(Booking, { metadata: { name: 'a' }, spec: { from: 2, to: 1 } })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ApiError).and.include({ reason: 'Invalid' });
  });
});
