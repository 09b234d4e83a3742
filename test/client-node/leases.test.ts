import {
  ApiException,
  CoordinationV1Api,
  KubeConfig,
  V1Lease,
  V1LeaseSpec,
  V1MicroTime,
} from '@kubernetes/client-node';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { SecureServer } from '../support/servers/secure-server.ts';

const lease = { namespace: 'default', name: 'operator.example.com' } as const;
const durationSeconds = 15;

function isCode(error: unknown, code: number): boolean {
  return error instanceof ApiException && error.code === code;
}

/**
 * A candidate with the leader election of client-go. It uses only its own clock, waits for the duration of the Lease
 * after the last change that it saw, and writes with the resourceVersion that it has read.
 */
class Candidate {
  readonly #api: CoordinationV1Api;
  readonly #clock: FakeClock;
  readonly #identity: string;
  #observed: V1Lease | undefined;
  #observedAtMs = 0;

  constructor(parts: { api: CoordinationV1Api; clock: FakeClock; identity: string }) {
    this.#api = parts.api;
    this.#clock = parts.clock;
    this.#identity = parts.identity;
  }

  /** Runs one round of the election; returns true when this candidate is then the leader. */
  async acquireOrRenew(): Promise<boolean> {
    const found = await this.#read();
    if (found === undefined) return this.#write(() => this.#create());
    this.#observe(found);
    return this.#mayTake(found) && this.#write(() => this.#replace(found));
  }

  /** Tries once to renew the Lease that the candidate read last, without reading it again. */
  async renewBlindly(): Promise<boolean> {
    return this.#write(() => this.#replace(this.#observed!));
  }

  async release(): Promise<boolean> {
    const body = changed(this.#observed!, { holderIdentity: '', leaseDurationSeconds: 1 });
    return this.#write(() => this.#api.replaceNamespacedLease({ ...lease, body }));
  }

  async #read(): Promise<V1Lease | undefined> {
    try {
      return await this.#api.readNamespacedLease(lease);
    } catch (error) {
      if (isCode(error, 404)) return undefined;
      throw error;
    }
  }

  #observe(found: V1Lease): void {
    if (found.metadata?.resourceVersion === this.#observed?.metadata?.resourceVersion) return;
    this.#observed = found;
    this.#observedAtMs = this.#clock.monotonicMs();
  }

  #mayTake({ spec }: V1Lease): boolean {
    const isOver = this.#observedAtMs + (spec?.leaseDurationSeconds ?? 0) * 1000 <= this.#clock.monotonicMs();
    return spec?.holderIdentity === this.#identity || !spec?.holderIdentity || isOver;
  }

  async #write(write: () => Promise<V1Lease>): Promise<boolean> {
    try {
      this.#observe(await write());
      return true;
    } catch (error) {
      if (isCode(error, 409)) return false;
      throw error;
    }
  }

  #create(): Promise<V1Lease> {
    const now = new V1MicroTime(this.#clock.now());
    const spec = { holderIdentity: this.#identity, leaseDurationSeconds: durationSeconds, leaseTransitions: 0 };
    const body = { metadata: { name: lease.name }, spec: { ...spec, acquireTime: now, renewTime: now } };
    return this.#api.createNamespacedLease({ namespace: lease.namespace, body });
  }

  #replace(found: V1Lease): Promise<V1Lease> {
    const now = new V1MicroTime(this.#clock.now());
    const isHolder = found.spec?.holderIdentity === this.#identity;
    const taken = {
      holderIdentity: this.#identity,
      leaseDurationSeconds: durationSeconds,
      acquireTime: now,
      leaseTransitions: (found.spec?.leaseTransitions ?? 0) + 1,
    };
    const body = changed(found, { ...(isHolder ? {} : taken), renewTime: now });
    return this.#api.replaceNamespacedLease({ ...lease, body });
  }
}

function changed(found: V1Lease, fields: Partial<V1LeaseSpec>): V1Lease {
  const spec = Object.assign(new V1LeaseSpec(), found.spec, fields);
  return Object.assign(new V1Lease(), found, { spec });
}

describe('client-node, electing a leader over TLS with a token [compat leases]', () => {
  let server: SecureServer;
  let clock: FakeClock;
  let api: CoordinationV1Api;

  before(async () => {
    server = await SecureServer.start();
    const config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    api = config.makeApiClient(CoordinationV1Api);
  });

  after(async () => server.stop());

  beforeEach(() => {
    clock = new FakeClock(Date.now());
  });

  afterEach(async () => {
    await api.deleteNamespacedLease(lease);
  });

  function candidates(count: number): readonly Candidate[] {
    return Array.from({ length: count }, (_each, at) => new Candidate({ api, clock, identity: `candidate-${at}` }));
  }

  async function leaders(all: readonly Candidate[]): Promise<readonly Candidate[]> {
    const led = await Promise.all(all.map((candidate) => candidate.acquireOrRenew()));
    return all.filter((_each, at) => led[at]);
  }

  it('one of several candidates that start at the same time leads, and continues to lead [slow]', async () => {
    const all = candidates(8);
    const first = await leaders(all);
    expect(first).to.have.length(1);
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(10_000);
      expect(await leaders(all)).to.deep.equal(first);
    }
    const { spec } = await api.readNamespacedLease(lease);
    expect(spec).to.include({ leaseTransitions: 0 });
    expect(Number(new Date(spec!.renewTime!)) - Number(new Date(spec!.acquireTime!))).to.equal(40_000);
  });

  it('one of several candidates takes the Lease of a silent leader, whose next renewal fails with a conflict', async () => {
    const [silent, ...others] = candidates(8);
    expect(await silent!.acquireOrRenew()).to.equal(true);
    expect(await leaders(others)).to.deep.equal([]);
    await clock.advance(durationSeconds * 1000 - 1);
    expect(await leaders(others)).to.deep.equal([]);
    await clock.advance(1);
    const next = await leaders(others);
    expect(next).to.have.length(1);
    expect(await silent!.renewBlindly()).to.equal(false);
    expect(await silent!.acquireOrRenew()).to.equal(false);
    expect(await leaders(others)).to.deep.equal(next);
    expect((await api.readNamespacedLease(lease)).spec).to.include({ leaseTransitions: 1 });
  });

  it('a candidate takes a released Lease at once', async () => {
    const [first, second] = candidates(2);
    expect(await first!.acquireOrRenew()).to.equal(true);
    expect(await second!.acquireOrRenew()).to.equal(false);
    expect(await first!.release()).to.equal(true);
    expect(await second!.acquireOrRenew()).to.equal(true);
    expect((await api.readNamespacedLease(lease)).spec).to.include({ holderIdentity: 'candidate-1' });
  });
});
