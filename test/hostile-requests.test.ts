import { expect } from 'chai';
import { HostileProcess } from './hostile/hostile-process.ts';
import { describeRequest } from './hostile/hostile-request.ts';
import type { HostileAnswer, HostileRequest } from './hostile/hostile-request.ts';
import { firstRequests, largeRequests, listRequests } from './hostile/large-requests.ts';
import type { LargeRequest } from './hostile/request-makers.ts';
import { shownBytes } from './hostile/send-request.ts';
import { things } from './hostile/models.ts';
import { randomRequests } from './hostile/random-requests.ts';
import { machineSlowness } from './hostile/machine-slowness.ts';
import { person, persons } from './support/models/models.ts';

/** The maximum time for which a client's request may block the event loop. */
const maxStallMs = 50;

const count = 5_000;
const seed = 20_300_101;

/** The number of requests at the same time. */
const width = 16;

/** The permitted growth of the memory in use. Caches and the history may grow. */
const maxGrowthBytes = 48 * 1024 * 1024;

const deleted: HostileRequest = { method: 'DELETE', path: things };

/**
 * Returns the limit for a stall. The limit is higher when other processes slow this process down. To measure this takes
 * a tenth of a second, so the function measures only for a stall above the usual limit.
 */
function limitFor(stallMs: number): number {
  return stallMs <= maxStallMs ? maxStallMs : maxStallMs * machineSlowness();
}

describe('hostile requests [slow]', () => {
  let server: HostileProcess;
  let heldAtStart: number;

  before(async () => {
    server = await HostileProcess.start();
    const ann = JSON.stringify(person('ann'));
    await server.send({ method: 'POST', path: persons, headers: { 'content-type': 'application/json' }, body: ann });
    // These requests compile code and fill caches, so that the memory for both does not count as growth.
    await stallOf(randomRequests(200, seed));
    heldAtStart = await server.call('heldBytes');
  });

  after(() => server.stop());

  async function expectAlive(): Promise<void> {
    expect(server.ended).to.equal(undefined);
    expect((await server.send({ method: 'GET', path: '/livez' })).text).to.equal('ok');
    expect(await server.call('problems')).to.deep.equal([]);
  }

  /** Sends the requests, and returns the longest stall of the event loop. */
  async function stallOf(requests: readonly HostileRequest[]): Promise<number> {
    await server.call('takeLongestMs');
    const answers = await Promise.all(requests.map((request) => server.send(request)));
    const stallMs = await server.call('takeLongestMs');
    for (const [index, answer] of answers.entries()) expectDocumented(requests[index]!, answer);
    return stallMs;
  }

  it(`get a documented response, and none of ${count} random requests blocks the event loop`, async function random() {
    // The test takes seconds on an idle machine, and much longer on a busy one.
    this.timeout(600_000);
    const requests = randomRequests(count, seed);
    for (let from = 0; from < requests.length; from += width) {
      const together = requests.slice(from, from + width);
      if ((await stallOf(together)) <= maxStallMs) continue;
      for (const request of together) {
        const stallMs = Math.min(await stallOf([request]), await stallOf([request]));
        expect(stallMs, describeRequest(request)).to.be.at.most(limitFor(stallMs));
      }
    }
    await server.send(deleted);
    await expectAlive();
    expect((await server.call('heldBytes')) - heldAtStart).to.be.below(maxGrowthBytes);
  });

  /**
   * Measures the longest stall of the event loop during a request. If the stall exceeds the limit, sends the request up
   * to two times more, because a garbage collection may have caused the stall. Returns the shortest measured stall.
   */
  async function leastStallOf(
    { before = () => [], request }: LargeRequest,
    object: string,
    prepare: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<number> {
    let leastMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3 && (attempt === 0 || leastMs > limitFor(leastMs)); attempt += 1) {
      // Each attempt uses a new name, because objects with finalizers are not deleted.
      const name = `${object}-${attempt}`;
      await prepare();
      for (const each of before(name)) {
        const { status, text } = await server.send(each);
        expect(status, text).to.be.below(300);
      }
      leastMs = Math.min(leastMs, await stallOf([request(name)]));
    }
    return leastMs;
  }

  for (const [number, large] of largeRequests.entries()) {
    it(`do not block the event loop: ${large.name}`, async () => {
      const stallMs = await leastStallOf(large, `large-${number}`);
      expect(stallMs).to.be.at.most(limitFor(stallMs));
      await server.send(deleted);
      await expectAlive();
    });
  }

  describe('to a kind with 20,000 objects', () => {
    before(() => server.call('fill', 20_000));

    after(() => server.send(deleted));

    for (const large of listRequests) {
      it(`do not block the event loop: ${large.name}`, async () => {
        const stallMs = await leastStallOf(large, 'list');
        expect(stallMs).to.be.at.most(limitFor(stallMs));
        await expectAlive();
      });
    }

    for (const first of firstRequests) {
      it(`do not block the event loop while the server builds an index for the request: ${first.name}`, async () => {
        const reindex = (): Promise<void> => server.call('reindex');
        const stallMs = await leastStallOf(first, 'first', reindex);
        expect(stallMs).to.be.at.most(limitFor(stallMs));
      });
    }
  });

  it('leave at most 48 MiB more memory in use than before the first of them', async () => {
    expect((await server.call('heldBytes')) - heldAtStart).to.be.below(maxGrowthBytes);
  });
});

/** Expects a status below 500, or a documented reason to retry: a future revision, or too much work at once. */
function expectDocumented(request: HostileRequest, { status, headers, text }: HostileAnswer): void {
  const about = `${describeRequest(request)}: ${status} ${text.slice(0, 300)}`;
  if (status === 504) expect(text, about).to.include('ResourceVersionTooLarge');
  else if (status === 503) expect(headers, about).to.have.property('retry-after');
  else expect(status, about).to.be.below(500);
  const isStatus = status >= 400 && !('raw' in request) && request.method !== 'HEAD';
  const type = String(headers['content-type']);
  const isWhole = text.length < shownBytes;
  if (isStatus && isWhole && type === 'application/json')
    expect(JSON.parse(text), about).to.include({ kind: 'Status', code: status });
}
