import { expect } from 'chai';
import { Person } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

describe('a large write by a client in process', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  /** Returns the number of turns of the event loop until the write ends. */
  async function turnsOf(write: Promise<unknown>): Promise<number> {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await write;
    isOver = true;
    return turns;
  }

  const many = Array.from({ length: 100_000 }, (_, index) => index.toString(36));

  function create(name: string, tags: readonly string[]): Promise<unknown> {
    return server.api.client.create(Person, {
      metadata: { name },
      spec: { name, age: 1, tags },
    } as unknown as Person);
  }

  it('takes several turns of the event loop, so that other code can run, for creations and patches [slow]', async () => {
    const few = await turnsOf(create('few', []));
    expect(await turnsOf(create('many', many))).to.be.above(few + 2);
    const patch = server.api.client.patch(Person, 'few', { type: 'merge', patch: { spec: { tags: many } } });
    expect(await turnsOf(patch)).to.be.above(few + 2);
  });
});
