import { expect } from 'chai';
import { letters, newLetter, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { leavesNoTrace } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { WatchReader } from './support/network/watch-reader.ts';

const lettersHere = letters.replace('letters', 'namespaces/here/letters');

function revisionsOf(watch: WatchReader): number[] {
  return watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
}

describe('watch [compat watch]', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['here', 'there']);
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann'));
    await server.create(persons, person('bob', {}, { labels: { team: 'red' } }));
  });

  after(() => server.stop());

  const watch = (query: string, path = persons): Promise<WatchReader> => server.watch(`${path}?watch=true&${query}`);
  const now = (): Promise<string> => server.revision(persons);

  describe('starts', () => {
    it('from a revision, with all later changes once and in order [spec 6-events]', async () => {
      const revision = await now();
      await server.patch(`${persons}/ann`, { spec: { age: 1 } });
      await server.create(persons, person('cid'));
      const reader = await watch(`resourceVersion=${revision}`);
      await server.delete(`${persons}/bob`);
      await server.patch(`${persons}/ann`, { spec: { age: 2 } });
      await reader.count(4);
      expect(reader.summary).to.deep.equal(['MODIFIED ann', 'ADDED cid', 'DELETED bob', 'MODIFIED ann']);
      const first = Number(revision);
      expect(revisionsOf(reader)).to.deep.equal([first + 1, first + 2, first + 3, first + 4]);
    });

    for (const query of ['', 'resourceVersion=0', 'resourceVersion=']) {
      it(`from "${query}" with the present objects as ADDED, and then later changes`, async () => {
        const reader = await watch(query);
        await reader.count(2);
        await server.create(persons, person('cid'));
        await reader.count(3);
        expect(reader.summary.slice(0, 2)).to.have.members(['ADDED ann', 'ADDED bob']);
        expect(reader.summary[2]).to.equal('ADDED cid');
      });
    }

    it('from a revision, with objects that are equal to the response to a GET', async () => {
      const reader = await watch(`resourceVersion=${await now()}`);
      await server.patch(`${persons}/ann`, { spec: { age: 7 } });
      const stored = (await server.get(`${persons}/ann`)).body;
      const [event] = await reader.count(1);
      expect(event).to.deep.equal({ type: 'MODIFIED', object: stored });
    });

    it('with the present objects and then an annotated bookmark if sendInitialEvents is set', async () => {
      const revision = await now();
      const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const reader = await watch(query);
      await reader.count(3);
      expect(reader.summary.slice(0, 2)).to.have.members(['ADDED ann', 'ADDED bob']);
      const { metadata, ...bookmark } = reader.events[2]?.object;
      expect(reader.events[2]?.type).to.equal('BOOKMARK');
      expect(bookmark).to.deep.equal({ apiVersion: 'people.example.com/v1alpha1', kind: 'Person' });
      expect(metadata).to.deep.equal({
        resourceVersion: revision,
        annotations: { 'k8s.io/initial-events-end': 'true' },
      });
      await server.create(persons, person('cid'));
      await reader.count(4);
      expect(reader.summary[3]).to.equal('ADDED cid');
    });

    it('with only the bookmark if sendInitialEvents is set and no objects are selected', async () => {
      const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const reader = await watch(`${query}&labelSelector=nobody`);
      await reader.count(1);
      expect(reader.summary).to.deep.equal(['BOOKMARK']);
    });

    it('without a bookmark if sendInitialEvents is set and bookmarks are not allowed', async () => {
      const reader = await watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
      await server.create(persons, person('cid'));
      await reader.count(3);
      expect(reader.of('BOOKMARK')).to.deep.equal([]);
    });

    it('at the resourceVersion if sendInitialEvents is false', async () => {
      const revision = await now();
      const query = `sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${revision}`;
      const reader = await watch(query);
      await server.create(persons, person('cid'));
      await reader.count(1);
      expect(reader.summary).to.deep.equal(['ADDED cid']);
    });
  });

  describe('request', () => {
    it('gets the response headers at once, before any event', async () => {
      const reader = await watch(`resourceVersion=${await now()}`);
      expect(reader.status).to.equal(200);
      expect(reader.headers).to.include({ 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
      expect(reader.headers['cache-control']).to.contain('no-cache');
      expect(reader.lines).to.deep.equal([]);
    });

    for (const value of ['true', 'True', '1', 'abc', 'yes']) {
      it(`is a watch with watch=${value}`, async () => {
        const reader = await server.watch(`${persons}?watch=${value}`);
        await reader.count(2);
        expect(reader.of('ADDED')).to.have.length(2);
      });
    }

    for (const value of ['false', '0', '']) {
      it(`is a list with watch=${value}`, async () => {
        expect((await server.get(`${persons}?watch=${value}`)).body.kind).to.equal('PersonList');
      });
    }

    it('returns the object, and ignores watch=true, when the path names an object', async () => {
      expect((await server.get(`${persons}/ann?watch=true`)).body.kind).to.equal('Person');
    });

    it('is a watch on the deprecated paths `…/watch/persons` and `…/watch/persons/<name>`', async () => {
      const old = persons.replace('/persons', '/watch/persons');
      const all = await server.watch(old);
      const one = await server.watch(`${old}/ann`);
      await server.patch(`${persons}/bob`, { spec: { age: 1 } });
      await server.patch(`${persons}/ann`, { spec: { age: 1 } });
      await all.count(4);
      await one.count(2);
      expect(one.summary).to.deep.equal(['ADDED ann', 'MODIFIED ann']);
    });

    it('ends its response normally after timeoutSeconds', async () => {
      const reader = await watch('timeoutSeconds=1');
      const events = await reader.end();
      expect(events.map(({ type }) => type)).to.deep.equal(['ADDED', 'ADDED']);
    });
  });

  describe('selectors', () => {
    it('send ADDED for an object that enters the selection, and DELETED with the new state for an object that leaves it', async () => {
      const reader = await watch(`labelSelector=team%3Dred&resourceVersion=${await now()}`);
      const red = { metadata: { labels: { team: 'red' } } };
      await server.patch(`${persons}/ann`, { spec: { age: 1 } });
      await server.patch(`${persons}/ann`, red);
      await server.patch(`${persons}/ann`, { spec: { age: 2 } });
      const left = (await server.patch(`${persons}/ann`, { metadata: { labels: { team: 'blue' } } })).body;
      await server.patch(`${persons}/ann`, { spec: { age: 3 } });
      await server.delete(`${persons}/ann`);
      await server.delete(`${persons}/bob`);
      await reader.count(4);
      expect(reader.summary).to.deep.equal(['ADDED ann', 'MODIFIED ann', 'DELETED ann', 'DELETED bob']);
      expect(reader.events[2]?.object).to.deep.equal(left);
    });

    it('can use an indexed field that has one value (metadata.name) or a list of values (spec.tags)', async () => {
      const revision = await now();
      const byTag = await watch(`fieldSelector=spec.tags%3Dx&resourceVersion=${revision}`);
      const byName = await watch(`fieldSelector=metadata.name%3Dann&resourceVersion=${revision}`);
      const without = await watch(`fieldSelector=spec.tags!%3Dx&resourceVersion=${revision}`);
      await server.patch(`${persons}/bob`, { spec: { tags: ['x', 'y'] } });
      await server.patch(`${persons}/ann`, { spec: { age: 1 } });
      await server.patch(`${persons}/bob`, { spec: { tags: ['y'] } });
      await Promise.all([byTag.count(2), byName.count(1), without.count(3)]);
      expect(byTag.summary).to.deep.equal(['ADDED bob', 'DELETED bob']);
      expect(byName.summary).to.deep.equal(['MODIFIED ann']);
      expect(without.summary).to.deep.equal(['DELETED bob', 'MODIFIED ann', 'ADDED bob']);
    });

    it('also select the objects that exist when the watch begins', async () => {
      const reader = await watch('labelSelector=team');
      await server.create(persons, person('cid', {}, { labels: { team: 'blue' } }));
      await reader.count(2);
      expect(reader.summary).to.deep.equal(['ADDED bob', 'ADDED cid']);
    });

    it('are not needed for one namespace: a watch on the path of a namespace has only the objects of this namespace', async () => {
      const revision = await now();
      const there = letters.replace('letters', 'namespaces/there/letters');
      const one = await watch(`resourceVersion=${revision}`, lettersHere);
      const all = await watch(`resourceVersion=${revision}`, letters);
      await server.create(there, newLetter('a', { text: 'there' }));
      await server.create(lettersHere, newLetter('a', { text: 'here' }));
      await Promise.all([one.count(1), all.count(2)]);
      expect(one.events.map(({ object }) => object.metadata.namespace)).to.deep.equal(['here']);
      expect(all.events.map(({ object }) => object.metadata.namespace)).to.deep.equal(['there', 'here']);
    });
  });

  describe('deletion', () => {
    it('is MODIFIED when the object is marked as deleted, and DELETED with its last state when it is removed', async () => {
      await server.patch(`${persons}/ann`, { metadata: { finalizers: ['a.b/c'] }, spec: { age: 5 } });
      const reader = await watch(`resourceVersion=${await now()}`);
      const marked = (await server.delete(`${persons}/ann`)).body;
      await server.patch(`${persons}/ann`, { metadata: { finalizers: [] } });
      await reader.count(2);
      expect(reader.summary).to.deep.equal(['MODIFIED ann', 'DELETED ann']);
      expect(reader.events[0]?.object).to.deep.equal(marked);
      const last = reader.events[1]?.object;
      expect(last.spec).to.deep.equal(marked.spec);
      expect(last.metadata.deletionTimestamp).to.equal(marked.metadata.deletionTimestamp);
      expect(last.metadata.resourceVersion).to.equal(await now());
    });

    it('is an event whose resourceVersion is the revision of the deletion, from which a watch can resume', async () => {
      const reader = await watch(`resourceVersion=${await now()}`);
      await server.delete(`${persons}/ann`);
      const [event] = await reader.count(1);
      const { resourceVersion } = event?.object.metadata;
      expect(resourceVersion).to.equal(await now());
      const next = await watch(`resourceVersion=${resourceVersion}`);
      await server.create(persons, person('cid'));
      await next.count(1);
      expect(next.summary).to.deep.equal(['ADDED cid']);
    });
  });

  describe('server-sent events', () => {
    const accept = 'text/event-stream';

    it('have the resourceVersion as id, and a watch with a Last-Event-ID begins after this event', async () => {
      const first = await server.watch(`${persons}?watch=true&resourceVersion=${await now()}`, { accept });
      expect(first.headers['content-type']).to.equal('text/event-stream');
      await server.create(persons, person('cid'));
      await server.create(persons, person('dan'));
      await first.count(2);
      const [cid] = first.events;
      expect(first.lines.slice(0, 3)).to.deep.equal([
        `id: ${cid?.object.metadata.resourceVersion}`,
        `data: ${JSON.stringify(cid)}`,
        '',
      ]);
      const resumed = await server.watch(`${persons}?watch=true`, {
        accept,
        'last-event-id': cid?.object.metadata.resourceVersion,
      });
      await resumed.count(1);
      await server.create(persons, person('eve'));
      await resumed.count(2);
      expect(resumed.summary).to.deep.equal(['ADDED dan', 'ADDED eve']);
    });

    it('resume after the initial objects when all of them were sent', async () => {
      const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const first = await server.watch(`${persons}?watch=true&${query}`, { accept });
      await first.count(3);
      const ids = first.lines.filter((line) => line.startsWith('id: '));
      const last = ids.at(-1)?.slice('id: '.length) ?? '';
      const resumed = await server.watch(`${persons}?watch=true&${query}`, { accept, 'last-event-id': last });
      await server.create(persons, person('cid'));
      await resumed.count(1);
      expect(resumed.summary).to.deep.equal(['ADDED cid']);
    });

    it('lose no object when the connection breaks while the initial objects are sent', async () => {
      // The first object that is sent has the newest revision. A client that resumed from this revision would miss the
      // other object.
      await server.patch(`${persons}/ann`, { spec: { age: 1 } });
      const first = await server.watch(`${persons}?watch=true`, { accept });
      await first.count(1);
      const seen = first.summary[0];
      const upToFirst = first.lines.slice(
        0,
        first.lines.findIndex((line) => line.startsWith('data: ')),
      );
      const id = upToFirst.find((line) => line.startsWith('id: '))?.slice('id: '.length) ?? '';
      const resumed = await server.watch(`${persons}?watch=true`, {
        accept,
        ...(id === '' ? {} : { 'last-event-id': id }),
      });
      await server.create(persons, person('last'));
      await resumed.until((events) => events.some(({ object }) => object.metadata.name === 'last'));
      const names = new Set([seen, ...resumed.summary].map((text) => text?.split(' ')[1]));
      expect([...names]).to.include.members(['ann', 'bob', 'last']);
    });
  });

  it('sends no event for refused writes or for writes that change nothing', async () => {
    await leavesNoTrace(server, () => server.put(`${persons}/ann`, person('ann')));
    await leavesNoTrace(server, () => server.post(persons, person('ann')));
  });

  it('sends many watchers the same events, in the same order [slow]', async () => {
    const revision = await now();
    const readers = await Promise.all(Array.from({ length: 50 }, () => watch(`resourceVersion=${revision}`)));
    const names = Array.from({ length: 40 }, (_, i) => `m-${i}`);
    await Promise.all(names.map((name) => server.post(persons, person(name))));
    await Promise.all(
      names.map((name, i) =>
        i % 2 === 0 ? server.delete(`${persons}/${name}`) : server.patch(`${persons}/${name}`, { spec: { age: i } }),
      ),
    );
    await Promise.all(readers.map((reader) => reader.count(80)));
    const [first] = readers;
    for (const reader of readers) expect(reader.events).to.deep.equal(first?.events);
    const revisions = revisionsOf(first as WatchReader);
    expect(revisions).to.deep.equal([...new Set(revisions)].sort((a, b) => a - b));
    for (const reader of readers) reader.close();
  });

  it('continues a list without gaps or repetitions while other clients write', async () => {
    const writes = Array.from({ length: 60 }, (_, i) => server.post(persons, person(`w-${i}`)));
    const readers = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { body } = await server.get(persons);
        const reader = await watch(`resourceVersion=${body.metadata.resourceVersion}`);
        return {
          reader,
          listed: body.items.map((item: { metadata: { name: string } }) => item.metadata.name) as string[],
        };
      }),
    );
    await Promise.all(writes);
    for (const { reader, listed } of readers) {
      await reader.count(62 - listed.length);
      const seen = [...listed, ...reader.events.map(({ object }) => object.metadata.name as string)];
      expect(seen).to.have.length(62);
      expect(new Set(seen).size).to.equal(62);
      reader.close();
    }
  });
});
