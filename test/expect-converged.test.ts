import { expect } from 'chai';
import { controller } from 'homeostat';
import type { ControllerDefinition, Logger } from 'homeostat';
import { createTestKit, FakeClock, silentLogger, startTestServer } from 'homeostat/testing';
import type { TestKit, TestServer } from 'homeostat/testing';
import { createDoors, opensByName } from './support/models/fake-doors.ts';
import { Badge, Person } from './support/models/staff.ts';
import { saysWhose } from './support/models/staff-controllers.ts';

/**
 * Returns a controller that writes the number of its runs into a badge, so that each run changes the badge. The
 * controller does not watch badges.
 */
const countsRuns = (): ControllerDefinition => {
  let runs = 0;
  return controller(Person, {
    async reconcile({ object, client }) {
      runs += 1;
      await client.ensure(Badge, object.metadata.name, { spec: { text: `run ${runs}` } });
    },
  });
};

describe('expectConverged', () => {
  let server: TestServer;
  let kit: TestKit | undefined;

  beforeEach(async () => {
    server = await startTestServer({ models: [Person, Badge] });
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
  });

  afterEach(async () => {
    await kit?.stop();
    await server.stop();
  });

  const resyncOf = (definition: ControllerDefinition, doors = createDoors(), logger?: Logger): Promise<string> => {
    const clock = new FakeClock();
    kit = createTestKit({
      server,
      controllers: [definition],
      clock,
      externalSystems: [doors],
      ...(logger && { logger }),
    });
    return kit.expectConverged().then(
      () => 'converged',
      (error: unknown) => (error as Error).message,
    );
  };

  it('accepts controllers without pending work', async () => {
    expect(await resyncOf(saysWhose)).to.equal('converged');
  });

  it('reports the first write of a resync, with the changed fields', async () => {
    const message = await resyncOf(countsRuns());
    expect(message, message).to.match(
      /^the controllers have not converged: a resync made\n {2}\w+ Badge ada\n {4}spec\.text: "run 1" -> "run 2"$/,
    );
  });

  it('reports failed runs of a resync', async () => {
    const reconcile = (): never => {
      throw new Error('no badges left');
    };
    expect(await resyncOf(controller(Person, { reconcile }), createDoors(), silentLogger)).to.match(
      /^the controllers have not converged: a resync made\n {2}failure of person "ada", \d+ failures?: no badges left$/,
    );
  });

  it('reports the calls to external systems that a resync makes', async () => {
    expect(await resyncOf(opensByName(createDoors()))).to.equal('converged');
    await kit?.stop();
    const doors = createDoors();
    expect(await resyncOf(opensByName(doors), doors)).to.equal(
      'the controllers have not converged: a resync made\n  call of open of external system "doors"',
    );
  });
});
