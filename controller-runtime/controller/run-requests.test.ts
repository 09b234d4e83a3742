import { expect } from 'chai';
import type { RequestOptions } from '../client/client.ts';
import { controller } from './definition/controller-definition.ts';
import { on } from './definition/followed-kind.ts';
import { Badge, Harness, Person } from './harness.test-support.ts';

const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'updateStatus',
  'patch',
  'apply',
  'delete',
  'ensure',
] as const;
type Verb = (typeof verbs)[number];

describe('the requests of a run', () => {
  let harness: Harness | undefined;

  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });

  it('the requests of a run have the signal of the run, which aborts at the timeout', async () => {
    const sent = new Map<Verb, RequestOptions>();
    const at = new Harness({
      controllers: [
        controller(Person, {
          timeoutMs: '30s',
          async reconcile({ object, client, signal }) {
            const badge = { metadata: { name: 'ada' }, spec: { text: 'Ada' } };
            await client.get(Badge, 'ada');
            await client.list(Badge);
            client.watch(Badge);
            await client.create(Badge, badge);
            await client.update(object);
            await client.updateStatus(object, { greeting: 'hi' });
            await client.patch(Person, 'ada', { type: 'merge', patch: {} });
            await client.apply(Badge, badge, { fieldManager: 'test' });
            await client.delete(Badge, 'ada');
            await client.ensure(Badge, 'ada', badge);
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          },
        }),
      ],
    });
    harness = at;
    const ada = await at.person('ada');
    const record = (verb: Verb) => [
      verb,
      (...args: readonly unknown[]): unknown => {
        sent.set(verb, args.at(-1) as RequestOptions);
        return verb === 'watch' ? [] : Promise.resolve(ada);
      },
    ];
    Object.assign(at.client, Object.fromEntries(verbs.map(record)));
    at.startOnly();
    await at.holds(() => sent.size === verbs.length);
    const aborted = (): readonly Verb[] => verbs.filter((verb) => sent.get(verb)?.signal?.aborted === true);
    expect(aborted()).to.deep.equal([]);
    await at.clock.advance(30_000);
    expect(aborted()).to.deep.equal(verbs);
  });

  it('the requests of a mapping have the signal of the mapping, which aborts at the timeout', async () => {
    let signal: AbortSignal | undefined;
    const at = new Harness({
      controllers: [
        controller(Person, {
          timeoutMs: '30s',
          watches: [on(Badge, (_, { client }) => client.get(Person, 'ada').then(() => []))],
          reconcile() {},
        }),
      ],
    });
    harness = at;
    Object.assign(at.client, {
      get: (_model: unknown, _name: unknown, options: RequestOptions) => {
        ({ signal } = options);
        return new Promise<never>(() => {});
      },
    });
    await at.start();
    await at.client.create<Badge>(Badge, { metadata: { name: 'b' }, spec: { text: '' } });
    await at.holds(() => signal !== undefined);
    expect(signal?.aborted).to.equal(false);
    await at.clock.advance(30_000);
    expect(signal?.aborted).to.equal(true);
  });
});
