import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { isFormerLeader } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Candidate } from './support/servers/candidate.ts';
import { freePort } from './support/network/free-port.ts';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

describe('leader election', () => {
  let server: TestServer;
  let candidates: Candidate[];
  let open: ('over HTTP' | 'in process')[];

  beforeEach(async () => {
    server = await TestServer.start();
    candidates = [];
  });
  afterEach(async () => {
    for (const candidate of candidates) await candidate.stop();
    await server.stop();
  });

  const clientFor = (place: 'over HTTP' | 'in process'): Client =>
    place === 'over HTTP' ? createClient(server.api.url) : server.api.client;

  const stand = (name: string, place: 'over HTTP' | 'in process' = 'over HTTP'): Candidate => {
    const candidate = new Candidate(name, clientFor(place));
    candidates.push(candidate);
    return candidate;
  };
  const greetingOf = async (name: string): Promise<string | undefined> =>
    (await server.get(`${persons}/${name}`)).body.status?.greeting as string | undefined;
  const greeted = (name: string, by: string): Promise<unknown> =>
    eventually(async () => (await greetingOf(name)) === by, { describe: `${by} to greet ${name}` });

  /** Starts two candidates. The first one leads and has greeted a person; the second one waits. */
  const rivals = async (): Promise<[Candidate, Candidate]> => {
    await server.create(persons, person('ada'));
    const [first = 'over HTTP', second = first] = open;
    const a = stand('a', first);
    await greeted('ada', 'a');
    const b = stand('b', second);
    await eventually(() => b.isWaiting && b.line.underWay === 0);
    return [a, b];
  };

  for (const places of [
    ['over HTTP', 'over HTTP'],
    ['in process', 'in process'],
    ['in process', 'over HTTP'],
  ] as const) {
    describe(`with one candidate ${places[0]}, the other ${places[1]}`, () => {
      beforeEach(() => (open = [...places]));

      it('refuses writes of a suspended leader after another candidate took over, and the manager of the former leader stops with an error', async () => {
        const [a, b] = await rivals();
        a.hold();
        await server.create(persons, person('bob'));
        await eventually(() => a.greeting.includes('bob'));
        // Only the clock of candidate b advances.
        await b.passUntil(() => b.isLeader);
        await greeted('bob', 'b');
        expect(a.isLeader).to.equal(true);
        a.letGo();
        await eventually(() => a.errors.length > 0);
        expect(a.errors[0]).to.satisfy(isFormerLeader);
        await eventually(async () => {
          await a.clock.advance(1);
          return a.failure;
        });
        expect(a.failure).to.satisfy(isFormerLeader);
        expect([await greetingOf('ada'), await greetingOf('bob')]).to.deep.equal(['b', 'b']);
      });

      it('does not apply late writes of a disconnected leader, which gives up before another candidate takes over', async () => {
        const [a, b] = await rivals();
        a.line.cut();
        await server.create(persons, person('bob'));
        await eventually(() => a.greeting.includes('bob'));
        const order: string[] = [];
        while (!b.isLeader) {
          await a.pass(500);
          if (!a.isLeader && order.length === 0) order.push('a has given up');
          await b.pass(500);
        }
        order.push('b leads');
        expect(order).to.deep.equal(['a has given up', 'b leads']);
        await greeted('bob', 'b');
        a.line.heal();
        await eventually(() => a.errors.length > 0);
        // The runs of the former leader were aborted. Over HTTP, the delayed request is never sent; in process, it is
        // sent and refused.
        expect(isFormerLeader(a.errors[0])).to.equal(places[0] === 'in process');
        expect(await greetingOf('bob')).to.equal('b');
        expect(a.failure).to.satisfy(isFormerLeader);
      });

      it('has a new leader with a new term within a retry period after the leader stops', async () => {
        const [a, b] = await rivals();
        await a.stop();
        expect(a.failure).to.equal(undefined);
        const { body: released } = await server.get(`${leases}/greeter`);
        expect(released.spec.holderIdentity).to.equal('');
        await b.pass(4500);
        await greeted('ada', 'b');
        const { body } = await server.get(`${leases}/greeter`);
        expect(body.spec).to.include({ holderIdentity: 'b', leaseTransitions: released.spec.leaseTransitions + 1 });
      });
    });
  }

  it('continues after a restart of the server: the leader keeps its term, and writes of a former leader are still refused [slow]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-election-'));
    try {
      await server.stop();
      const database = `sqlite:${join(folder, 'objects.db')}`;
      const port = await freePort();
      server = await TestServer.start({ database, port });
      open = ['over HTTP'];
      const [a, b] = await rivals();
      await server.stop();
      await a.pass(4000);
      server = await TestServer.start({ database, port });
      await a.pass(4000);
      await server.create(persons, person('bob'));
      await greeted('bob', 'a');
      a.hold();
      await server.create(persons, person('carl'));
      await eventually(() => a.greeting.includes('carl'));
      await b.passUntil(() => b.isLeader);
      await server.stop();
      server = await TestServer.start({ database, port });
      a.letGo();
      await eventually(() => a.errors.length > 0);
      expect(a.errors.at(-1)).to.satisfy(isFormerLeader);
      expect(await greetingOf('carl')).not.to.equal('a');
    } finally {
      for (const candidate of candidates.splice(0)) await candidate.stop();
      await rm(folder, { recursive: true });
    }
  });

  describe('by the header Homeostat-Leader', () => {
    let header: string;
    let number = 0;

    const hold = async (spec: object): Promise<void> => {
      const { body } = await server.patch(`${leases}/lock`, { spec });
      header = `default/lock/${body.metadata.uid}/${body.spec.leaseTransitions}`;
    };
    const leader = (): object => ({ headers: { 'homeostat-leader': header } });
    /**
     * Sends a POST, a PUT, a merge patch, an apply, a DELETE of one object and a DELETE of a collection, each for a
     * separate object. Returns the status codes of the responses.
     */
    const writeAll = async (): Promise<number[]> => {
      const names = ['put', 'patch', 'apply', 'delete', 'some'].map((verb) => `${verb}-${(number += 1)}`);
      for (const name of names)
        await server.create(persons, person(name, {}, { labels: { 'x.example.com/of': name } }));
      const [put = '', patch = '', apply = '', remove = '', some = ''] = names;
      const applied = { ...leader(), type: 'application/apply-patch+yaml' };
      const answers = [
        await server.post(persons, person(`post-${(number += 1)}`), leader()),
        await server.put(`${persons}/${put}`, person(put, { age: 7 }), leader()),
        await server.patch(`${persons}/${patch}`, { spec: { age: 7 } }, leader()),
        await server.patch(`${persons}/${apply}?fieldManager=x&force=true`, person(apply, { age: 8 }), applied),
        await server.request('DELETE', `${persons}/${remove}`, leader()),
        await server.request('DELETE', `${persons}?labelSelector=x.example.com/of=${some}`, leader()),
      ];
      for (const { status, body } of answers) {
        if (status === 409) expect(body.details.causes[0].reason).to.equal('FormerLeader');
      }
      return answers.map(({ status }) => status);
    };
    const written = [201, 200, 200, 200, 200, 200];
    const refused = new Array(6).fill(409);

    beforeEach(async () => {
      const metadata = { name: 'lock' };
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { holderIdentity: 'a' } };
      await server.create(leases, lease);
      await hold({ leaseTransitions: 0 });
    });

    it('writes of the holder in its term succeed, even without renewals, and writes with an earlier term are refused', async () => {
      expect(await writeAll()).to.deep.equal(written);
      await server.patch(`${leases}/lock`, { spec: { renewTime: '2030-01-01T00:00:00.000000Z' } });
      expect(await writeAll()).to.deep.equal(written);
      const before = header;
      await hold({ holderIdentity: 'b', leaseTransitions: 1 });
      expect(await writeAll()).to.deep.equal(written);
      header = before;
      expect(await writeAll()).to.deep.equal(refused);
    });

    it('writes are refused once the Lease is released, deleted or created again', async () => {
      await server.patch(`${leases}/lock`, { spec: { holderIdentity: '' } });
      expect(await writeAll()).to.deep.equal(refused);
      await server.patch(`${leases}/lock`, { spec: { holderIdentity: 'a' } });
      expect(await writeAll()).to.deep.equal(written);
      const { body } = await server.get(`${leases}/lock`);
      await server.delete(`${leases}/lock`);
      expect(await writeAll()).to.deep.equal(refused);
      await server.create(leases, {
        apiVersion: body.apiVersion,
        kind: body.kind,
        metadata: { name: 'lock' },
        spec: body.spec,
      });
      expect(await writeAll()).to.deep.equal(refused);
    });

    it('a refusal names the object and the Lease, and nothing is written', async () => {
      await server.create(persons, person('eve'));
      await hold({ holderIdentity: 'b', leaseTransitions: 1 });
      header = header.replace(/1$/, '0');
      const answer = await server.patch(`${persons}/eve`, { spec: { age: 7 } }, leader());
      expect(answer.status).to.equal(409);
      expect(answer.body).to.include({ kind: 'Status', reason: 'Conflict' });
      const why = `the term ${header} of the lease "default/lock" has ended`;
      expect(answer.body.message).to.equal(`Operation cannot be fulfilled on persons.people.example.com "eve": ${why}`);
      expect(answer.body.details).to.deep.include({ name: 'eve', causes: [{ reason: 'FormerLeader', message: why }] });
      expect((await server.get(`${persons}/eve`)).body.spec).not.to.have.property('age');
    });

    it('a header that is not a valid term of a Lease is refused with 400', async () => {
      const uid = header.split('/')[2] ?? '';
      const wrong = [
        '',
        'lock',
        `default/lock/${uid}`,
        `default/lock/${uid}/x`,
        `default/lock/${uid}/-1`,
        `Default/lock/${uid}/0`,
      ];
      wrong.push(
        `default/lock/${uid}/00`,
        `default/lock/${uid}/9999999999999999`,
        `a/${'b'.repeat(300)}/${uid}/0`,
        `${header}, ${header}`,
      );
      for (const each of wrong) {
        header = each;
        const answer = await server.post(persons, person('ann'), leader());
        expect([each, answer.status]).to.deep.equal([each, 400]);
        expect(answer.body.message).to.contain('header Homeostat-Leader');
      }
    });
  });
});
