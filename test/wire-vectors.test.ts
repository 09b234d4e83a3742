import type { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPersons as persons, newDemoPerson } from './support/models/demo-person.ts';
import { passCompactions } from './support/servers/pass-time.ts';
import { readVector, summaryOf, WireReplay } from './support/definitions/recorded-wire.ts';
import type { RecordedRequest } from './support/definitions/recorded-wire.ts';
import type { TestServer } from './support/servers/test-server.ts';

const recordings = JSON.parse(readVector('wire.json')) as readonly RecordedRequest[];

/**
 * Intended differences from Kubernetes' responses, by the name of the case. The test also fails when a case in this
 * list does not differ.
 */
const deviations: Readonly<Record<string, string>> = {
  'create wrong kind': 'a body whose kind is not the kind of the path gets 400, as a body with another version does',
  'create with resourceVersion': 'a malformed value is 400 with a reason; Kubernetes sends 500 without a reason',
  'create yaml': 'YAML is read as version 1.2, in which Y is a text',
  'post to named': 'there is no POST on an object: 405',
  'patch collection': 'there is no PATCH on a collection: 405',
  'trailing slash list':
    'dupf2 and x2 are not in the list: this server refused their creations (a duplicate field, a wrong namespace)',
  api: 'GET /api gets 200, because this server also serves the core group; the recorded server did not, and sent 404',
  'apis aggregated v2beta1': 'aggregated discovery is still served in version v2beta1, for kubectl 1.27 and 1.28',
  'fieldSelector "metadata.namespace="':
    'a selector of namespaces matches no object of a kind without namespaces, and is not an error',
  'fieldSelector "metadata.namespace=x"':
    'a selector of namespaces matches no object of a kind without namespaces, and is not an error',
  'fieldSelector "metadata.name"': 'field selectors have the grammar of label selectors',
  'fieldSelector "metadata.name in (l1)"': 'field selectors have the grammar of label selectors',
  'fieldSelector "spec.gender="':
    'a field selector with an empty value does not select objects without the field; in Kubernetes, it does',
  'put no RV': 'an update without a precondition is unconditional',
  'put RV non-numeric': 'a malformed value is 400 with a reason; Kubernetes sends 500 without a reason',
  'put set deletionTimestamp': 'fields that the server sets are ignored in requests',
  'patch strategic':
    'a strategic merge patch without a directive is treated as a merge patch, because several clients send it by default',
  'jsonpatch Strict unknown op field': 'members that RFC 6902 does not define are ignored, as the RFC requires',
  'ssa unknown field (default strict? )':
    'an unknown field is pruned with a warning, as in every write without fieldValidation; Kubernetes sends 500',
  'delete uid precondition bad': 'details.kind is the plural, as in every other conflict; Kubernetes sends the kind',
  'watch RV bad': 'a malformed value is 400 with a reason; Kubernetes sends 500 without a reason',
  'delete bad json': 'a malformed value is 400 with a reason; Kubernetes sends 500 without a reason',
};

/** The cases whose responses are not compared with the recording, with the reason. */
const notCompared: Readonly<Record<string, string>> = Object.fromEntries(
  ['delete orphan', 'watch RV=0', 'watch sendInitialEvents no bookmarks', 'watch Table', 'watch=True'].map((name) => [
    name,
    'the recorded server had no garbage collector; here, it removes the finalizers orphan and foregroundDeletion',
  ]),
);

/**
 * Writes that Kubernetes refuses and this server accepts. They are sent as dry runs, so that later cases start from the
 * same state as in the recording.
 */
const unlikeStored: ReadonlySet<string> = new Set([
  'create yaml',
  'put no RV',
  'put RV "0"',
  'patch strategic',
  'put set deletionTimestamp',
  'jsonpatch Strict unknown op field',
  'ssa unknown field (default strict? )',
]);

/**
 * The revision at which the recorded watches start. It was the newest revision of the recorded server when the first of
 * these watches began.
 */
const watchedFrom = '1030683';

const continueToken = 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAzMDY0NSwic3RhcnQiOiIvbDJcdTAwMDAifQ';

describe('requests recorded from Kubernetes, one after the other [compat recorded]', () => {
  let clock: FakeClock;
  let server: TestServer;
  let replay: WireReplay;

  before(async () => {
    replay = await WireReplay.start({ retention: { minAgeMs: 1, minChanges: 0 } });
    ({ server, clock } = replay);
  });

  after(() => server.stop());

  const person = (name: string, spec: object, metadata: object): Promise<unknown> =>
    server.create(persons, { ...newDemoPerson(name, {}, metadata), spec: { name: 'N', ...spec } });

  /** Steps before a request, by its name. Without them, its response would differ from the recorded one. */
  const preparations: Readonly<Record<string, () => Promise<unknown>>> = {
    'list limit 2': async () => {
      for (const age of [1, 2, 3, 4, 5]) {
        const odd = age % 2;
        await person(
          `l${age}`,
          { age, gender: odd === 1 ? 'MALE' : 'FEMALE' },
          { labels: { set: 'l', odd: String(odd) } },
        );
      }
      replay.learn('1030645', await server.revision(persons));
    },
    'list continue': async () => {
      const { body } = await server.get(`${persons}?limit=2&labelSelector=set%3Dl`);
      replay.learn(continueToken, body.metadata.continue as string);
    },
    'delete with finalizer': () => person('fin', {}, { finalizers: ['demo.example.com/f'] }),
    'deletecollection dryRun': async () => {
      for (const name of ['d1', 'd2', 'd3']) await person(name, {}, { labels: { coll: 'd' } });
    },
    'watch RV too old': () => passCompactions(clock, 2),
  };

  /** Functions that write while a recorded watch is open, by the name of the watch. They cause the recorded events. */
  const meanwhile: Readonly<Record<string, () => Promise<unknown>>> = {
    'watch RV=cur add/mod/del': async () => {
      await person('wt1', {}, {});
      await server.patch(`${persons}/wt1`, { spec: { age: 1 } });
      await server.delete(`${persons}/wt1`);
    },
    'watch with labelSelector transitions': async () => {
      await person('wt2', {}, {});
      for (const labels of [{ w: '1' }, { x: '1' }, { w: null }])
        await server.patch(`${persons}/wt2`, { metadata: { labels } });
      await server.delete(`${persons}/wt2`);
    },
  };

  for (const [index, recorded] of recordings.entries()) {
    const { name, response } = recorded;
    const why = deviations[name] ?? notCompared[name];
    it(`${index} ${name}${why === undefined ? '' : `, not as recorded: ${why}`}`, async () => {
      await preparations[name]?.();
      if (recorded.request.path.includes(watchedFrom)) replay.learn(watchedFrom, await server.revision(persons));
      const answer = await replay.send(recorded, { meanwhile: meanwhile[name], isDry: unlikeStored.has(name) });
      if (response === null || notCompared[name] !== undefined) {
        expect(answer.status).to.be.within(200, 499);
        return;
      }
      const [seen, wanted] = [summaryOf(answer, recorded), summaryOf(response, recorded)];
      if (why === undefined) expect(seen).to.deep.equal(wanted);
      else expect(seen).not.to.deep.equal(wanted);
    });
  }

  it('include every case in the list of differences, and every case in the list of cases that are not compared', () => {
    expect(recordings.map(({ name }) => name)).to.include.members([
      ...Object.keys(deviations),
      ...Object.keys(notCompared),
    ]);
  });
});
