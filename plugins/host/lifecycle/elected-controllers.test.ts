import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller } from '@homeostat/controller-runtime';
import type { LeaderElectionOptions } from '@homeostat/controller-runtime';
import { defineModel, silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { expect } from 'chai';
import { ElectedControllers } from './elected-controllers.ts';

const Lease = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});

describe('the controllers of a plugin', () => {
  let server: ApiServer;
  let clock: FakeClock;

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    clock = new FakeClock();
  });

  afterEach(() => server.stop());

  const named = (name: string) => controller(Lease, { name, reconcile() {} });

  it('must have different names, even when they are added between the loss of the lease and a new election', async () => {
    const seen: boolean[] = [];
    let refusal: unknown;
    const observe: LeaderElectionOptions['observe'] = ({ isLeader }) => {
      if (seen.at(-1) === true && !isLeader) {
        try {
          controllers.add(named('one'));
        } catch (error) {
          refusal = error;
        }
        controllers.add(named('two'));
      }
      seen.push(isLeader);
    };
    const metrics = new Metrics();
    const { client } = server;
    const leaderElection = { name: 'lock', observe };
    const controllers = new ElectedControllers({ client, clock, logger: silentLogger, metrics, leaderElection });
    controllers.add(named('one'));
    expect(() => controllers.add(named('one'))).to.throw('there is a controller "one" already');
    const stop = new AbortController();
    const running = controllers.run(stop.signal);
    const elected = (times: number): Promise<boolean> =>
      eventually(async () => {
        await clock.advance(1_000);
        return seen.filter((isLeader) => isLeader).length === times;
      });
    await elected(1);
    const spec = { holderIdentity: 'thief', leaseTransitions: 1, leaseDurationSeconds: 1 };
    await client.patch(Lease, 'lock', { type: 'merge', patch: { spec } }, { namespace: 'default' });
    await elected(2);
    expect(refusal).to.have.property('message').that.includes('there is a controller "one" already');
    expect(controllers.controllers().map(({ name }) => name)).to.deep.equal(['one', 'two']);
    stop.abort();
    let hasStopped = false;
    void running.then(() => (hasStopped = true));
    await clock.runUntil(() => hasStopped);
  });
});
