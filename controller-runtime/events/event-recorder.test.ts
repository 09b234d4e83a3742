import { expect } from 'chai';
import { ApiError, type ApiObject } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { createRecordingLogger } from '../client/recording-logger.fixture.ts';
import { eventually } from '../testing/eventually.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { EventWriter } from './event-recorder.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
type Sent = readonly [verb: 'create' | 'patch', body: any, options: { readonly namespace?: string }];

describe('an event recorder', () => {
  let clock: FakeClock;
  let logger: ReturnType<typeof createRecordingLogger>;
  let sent: Sent[];
  /** The faults of the next requests: an error to throw, or a promise that delays the response. */
  let troubles: (Error | Promise<void> | undefined)[];
  let recorder: EventWriter;

  const answer = async (...request: Sent): Promise<ApiObject> => {
    const trouble = troubles.shift();
    if (trouble instanceof Error) throw trouble;
    await trouble;
    sent.push(request);
    return request[1] as ApiObject;
  };

  beforeEach(() => {
    clock = new FakeClock();
    logger = createRecordingLogger();
    sent = [];
    troubles = [];
    let uuids = 0;
    const client = {
      create: (_model: object, object: object, options: object) => answer('create', object, options),
      patch: (_model: object, name: string, { patch }: { patch: object }, options: object) =>
        answer('patch', { name, ...patch }, options),
    } as unknown as Client;
    const uuid = (): string => `${String((uuids += 1)).padStart(8, '0')}-0000-4000-8000-000000000000`;
    recorder = new EventWriter({ client, component: 'person', clock, logger, uuid });
  });

  afterEach(async () => {
    await recorder.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  const person = (metadata: object = {}): ApiObject => ({
    apiVersion: 'people.example.com/v1',
    kind: 'Person',
    metadata: {
      name: 'ann',
      uid: 'u1',
      resourceVersion: '7',
      version: 1,
      generation: 1,
      creationTimestamp: '2030-01-01T00:00:00Z',
      ...metadata,
    },
  });

  it('cuts a long text without splitting a surrogate pair, so that the server accepts the text', async () => {
    recorder.event(person(), 'Normal', `${'R'.repeat(127)}\u{1f600}`, `${'x'.repeat(1023)}\u{1f600}`);
    await eventually(() => recorder.isIdle());
    const [[, { reason, message }]] = sent as [Sent];
    expect([reason.length, message.length]).to.deep.equal([128, 1024]);
    expect([reason.isWellFormed(), message.isWellFormed()]).to.deep.equal([true, true]);
  });

  it('creates an event that kubectl can find, and patches its count when it occurs again', async () => {
    const run = recorder.ofRun('run-1');
    run.event(person(), 'Normal', 'Greeted', 'said hello');
    await clock.advance(60_000);
    recorder.ofRun('run-2').event(person(), 'Normal', 'Greeted', 'said hello');
    await eventually(() => recorder.isIdle());
    expect(sent).to.have.length(2);
    const [[, created, { namespace }], [verb, patched]] = sent as [Sent, Sent];
    expect(namespace).to.equal('default');
    expect(created).to.deep.equal({
      metadata: { name: 'ann.0000000100004000', annotations: { 'controller-runtime/reconcile-id': 'run-1' } },
      involvedObject: {
        apiVersion: 'people.example.com/v1',
        kind: 'Person',
        name: 'ann',
        uid: 'u1',
        resourceVersion: '7',
      },
      type: 'Normal',
      reason: 'Greeted',
      message: 'said hello',
      count: 1,
      firstTimestamp: '2030-01-01T00:00:00Z',
      lastTimestamp: '2030-01-01T00:00:00Z',
      source: { component: 'person' },
      reportingComponent: 'person',
    });
    expect(verb).to.equal('patch');
    expect(patched).to.deep.include({ name: created.metadata.name, count: 2, lastTimestamp: '2030-01-01T00:01:00Z' });
    expect(patched.metadata.annotations).to.deep.equal({ 'controller-runtime/reconcile-id': 'run-2' });
  });

  it('writes an event into the namespace of its object', async () => {
    recorder.event(person({ namespace: 'team-a' }), 'Warning', 'Lost', 'x');
    await eventually(() => sent.length === 1);
    expect(sent[0]?.[2].namespace).to.equal('team-a');
    expect(sent[0]?.[1].involvedObject.namespace).to.equal('team-a');
  });

  it('creates an event again when it has been deleted', async () => {
    recorder.event(person(), 'Normal', 'Greeted', 'hello');
    await eventually(() => recorder.isIdle());
    troubles = [new ApiError('NotFound', 'gone')];
    recorder.event(person(), 'Normal', 'Greeted', 'hello');
    await eventually(() => recorder.isIdle());
    expect(sent.map(([verb, { count }]) => [verb, count])).to.deep.equal([
      ['create', 1],
      ['create', 2],
    ]);
  });

  it('tries again every ten seconds while no server responds, and is idle between the attempts', async () => {
    troubles = [new ApiError('ServiceUnavailable', 'down'), new ApiError('Timeout', 'late')];
    recorder.event(person(), 'Normal', 'Greeted', 'hello');
    await eventually(() => recorder.isIdle());
    expect(sent).to.have.length(0);
    await clock.advance(20_000);
    await eventually(() => sent.length === 1);
  });

  it('drops an event after twelve attempts, or at once when the server refuses the event, and logs a warning', async () => {
    troubles = Array.from({ length: 12 }, () => new ApiError('ServiceUnavailable', 'down'));
    recorder.event(person(), 'Normal', 'First', 'hello');
    await clock.advance(120_000);
    troubles = [new ApiError('Forbidden', 'the namespace is being terminated')];
    recorder.event(person(), 'Normal', 'Second', 'hello');
    recorder.event(person(), 'Normal', 'Third', 'hello');
    await eventually(() => recorder.isIdle());
    expect(sent.map(([, { reason }]) => reason as string)).to.deep.equal(['Third']);
    expect(logger.entries.map(({ level, fields }) => [level, fields['reason']])).to.deep.equal([
      ['warn', 'First'],
      ['warn', 'Second'],
    ]);
  });

  it('never throws for any arguments, and shortens long texts', async () => {
    const bad = recorder as unknown as { event(...args: unknown[]): void };
    for (const args of [
      [],
      [undefined, 'Normal', 'A', 'b'],
      [person(), 'Fatal', 'A', 'b'],
      [person(), 'Normal', '', 'b'],
    ])
      bad.event(...args);
    bad.event(person(), 'Normal', 'R'.repeat(200), 'm'.repeat(5000));
    bad.event(person(), 'Normal', 'NoText', undefined);
    await eventually(() => recorder.isIdle());
    expect(logger.entries.filter(({ message }) => message === 'an event could not be recorded')).to.have.length(4);
    expect(sent.map(([, { reason, message }]) => [reason.length, message.length])).to.deep.equal([
      [128, 1024],
      [6, 9],
    ]);
  });

  it('queues at most a thousand events, drops further events, and logs only one line about them', async () => {
    let letGo = (): void => {};
    troubles = [new Promise((resolve) => (letGo = resolve))];
    for (let index = 0; index < 1100; index += 1) {
      recorder.event(person({ name: `p${index}`, uid: `u${index}` }), 'Normal', 'Greeted', 'hello');
    }
    letGo();
    await eventually(() => recorder.isIdle());
    expect(sent).to.have.length(1001);
    expect(logger.entries).to.have.length(1);
  });

  it('writes the waiting events when it is closed, and accepts no new ones', async () => {
    recorder.event(person(), 'Normal', 'First', 'hello');
    recorder.event(person(), 'Normal', 'Second', 'hello');
    await recorder.close();
    recorder.event(person(), 'Normal', 'Third', 'hello');
    expect(sent.map(([, { reason }]) => reason as string)).to.deep.equal(['First', 'Second']);
    expect(recorder.isIdle()).to.equal(true);
  });

  it('does not wait for an unreachable server when it is closed', async () => {
    troubles = [new ApiError('ServiceUnavailable', 'down'), new ApiError('ServiceUnavailable', 'down')];
    recorder.event(person(), 'Normal', 'First', 'hello');
    await eventually(() => clock.pendingTimers === 1);
    await recorder.close();
    expect(sent).to.have.length(0);
  });
});
