import { readFileSync } from 'node:fs';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { appliedPerson, appliedPersons, appliedVersion } from './support/models/applied-person.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

// Intended differences from Kubernetes' responses, by the name of the sequence and the number of the step (from 0). The
// test also fails when a step in this list does not differ.
const deviations: Readonly<Record<string, string>> = {
  'set list duplicate in applied 0': 'a list with a duplicate is a 422 that names the field, not a 500',
  'map list (conditions via status) 5':
    'an applied `{}` is an empty object; Kubernetes makes null of it and refuses that',
  'spec via apply on status is dropped 2': 'the same',
  'null value in apply 0': 'null counts as absent where the schema does not say nullable',
  'null value in apply 1': 'the object exists already, since the step before created it',
  'null value in apply 2': 'null counts as absent',
};

interface Step {
  readonly op: 'apply' | 'merge-patch' | 'put' | 'create';
  readonly manager: string;
  readonly fields?: { readonly metadata?: object };
  readonly patch?: object;
  readonly set?: object;
  readonly sub?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly result?: Readonly<Record<string, unknown>>;
}

interface Sequence {
  readonly name: string;
  readonly steps: readonly Step[];
}

const file = new URL('../vectors/ssa-sequences.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly Sequence[] };

describe('server-side apply, as recorded from Kubernetes', () => {
  let server: TestServer;

  before(async () => {
    // The clock does not advance, because each sequence was recorded within a second: entries with the same time are
    // sorted by manager.
    server = await TestServer.start({ clock: new FakeClock() });
    server.api.schemeManager.register(appliedPerson);
    await server.api.whenReady(appliedPerson);
  });

  after(() => server.stop());

  async function run(name: string, step: Step): Promise<Answer> {
    const query = new URLSearchParams({ fieldManager: step.manager });
    if (step.force === true) query.set('force', 'true');
    if (step.dryRun === true) query.set('dryRun', 'All');
    const path = `${appliedPersons}/${name}${step.sub === undefined ? '' : `/${step.sub}`}?${query.toString()}`;
    const object = {
      apiVersion: appliedVersion,
      kind: 'Person',
      ...step.fields,
      metadata: { name, ...step.fields?.metadata },
    };
    switch (step.op) {
      case 'apply':
        return server.patch(path, object, { type: 'application/apply-patch+yaml' });
      case 'create':
        return server.post(`${appliedPersons}?${query.toString()}`, object);
      case 'merge-patch':
        return server.patch(path, step.patch);
      case 'put': {
        const { body } = await server.get(`${appliedPersons}/${name}`);
        return server.put(path, { ...body, ...step.set });
      }
    }
  }

  for (const [number, { name, steps }] of cases.entries()) {
    it(name, async () => {
      for (const [index, step] of steps.entries()) {
        const answer = await run(`ssa-${number}`, step);
        if (step.result === undefined) {
          expect(answer.status, answer.text).to.equal(201);
          continue;
        }
        const deviation = deviations[`${name} ${index}`];
        const seen = summaryOf(answer);
        const { reason = seen['reason'], ...expected } = step.result;
        const recorded = namedHere({ ...expected, ...(reason === undefined ? {} : { reason }) }, `ssa-${number}`);
        if (deviation === undefined) expect(seen, `step ${index}`).to.deep.equal(recorded);
        else expect(seen, deviation).not.to.deep.equal(recorded);
      }
    });
  }

  it('has a recorded step for each entry in the list of intended differences from Kubernetes', () => {
    const steps = cases.flatMap((each) => each.steps.map((_, index) => `${each.name} ${index}`));
    expect(steps).to.include.members(Object.keys(deviations));
  });
});

/** Replaces the names of the recorded objects with the name of this test's object. */
function namedHere(recorded: object, name: string): object {
  return JSON.parse(JSON.stringify(recorded).replace(/\bssa\d+\b/g, name)) as object;
}

/** Converts a response to the form of the recorded responses of Kubernetes, so that the test can compare the two. */
function summaryOf({ status, body }: Answer): Readonly<Record<string, unknown>> {
  if (status >= 400) {
    const { reason, message, details } = body;
    return { code: status, reason, message, ...(details?.causes === undefined ? {} : { causes: details.causes }) };
  }
  const { metadata, spec, status: state } = body;
  const { labels, finalizers, generation, managedFields = [] } = metadata;
  const entries = managedFields.map(({ time: _time, ...entry }: { time?: string }) => entry);
  const parts = { labels, finalizers, generation, spec, status: state };
  const present = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { code: status, ...Object.fromEntries(present), managedFields: entries };
}
