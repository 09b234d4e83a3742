import { expect } from 'chai';
import type { ApiObject } from '../object/object.ts';
import type { ControllerObject } from './controller-state.ts';
import { explainObject } from './explain-object.ts';
import { pausedAnnotation } from './actions.ts';
import type { Run } from './run.ts';

const metadata = { name: 'ada', uid: 'u', resourceVersion: '7', generation: 1 };
const object = { apiVersion: 'people.example.com/v1', kind: 'Person', metadata } as ApiObject;

interface Report {
  readonly running?: boolean;
  /** The result of the last run. */
  readonly result?: string;
}

/**
 * Returns the summary of the explanation of `ada`. The keys of `reports` are the names of the controllers of the kind
 * Person.
 */
function summaryOf(reports: Readonly<Record<string, Report>>, annotations: Readonly<Record<string, string>> = {}) {
  const controllers = Object.entries(reports).map(([name, { running = true }]) => ({
    spec: {
      controller: `people/${name}`,
      reconciles: { apiVersion: 'people.example.com/v1', kind: 'Person' },
      concurrency: 4,
    },
    status: { running, keys: [] },
  })) as unknown as ControllerObject[];
  const runs = Object.entries(reports).map(([name, { result = 'success' }]) => ({
    metadata: { name },
    controller: `people/${name}`,
    startTime: '2026-01-01T00:00:00Z',
    result,
    triggers: [],
  })) as unknown as Run[];
  const annotated = { ...object, metadata: { ...metadata, annotations } } as ApiObject;
  return explainObject({ object: annotated, controllers, runs, owners: [], nowMs: Date.now() }).summary;
}

describe('the summary of an explanation', () => {
  it('names only the controllers whose last run failed', () => {
    const one = { a: { result: 'error' }, b: {}, c: {} };
    expect(summaryOf(one)).to.equal('The last run for Person ada failed in people/a.');
    expect(summaryOf({ ...one, c: { result: 'timeout' } })).to.equal(
      'The last runs for Person ada failed in people/a and people/c.',
    );
  });

  it('names only the controllers that are stopped', () => {
    const one = { a: { running: false }, b: {}, c: {}, d: {} };
    const start = 'Person ada has no condition Ready, and';
    expect(summaryOf(one)).to.equal(`${start} people/a does not run.`);
    expect(summaryOf({ ...one, c: { running: false } })).to.equal(`${start} people/a and people/c do not run.`);
    const three = { ...one, c: { running: false }, d: { running: false } };
    expect(summaryOf(three)).to.equal(`${start} people/a, people/c and people/d do not run.`);
  });

  it('names the controllers that have no work, or for which the object is paused', () => {
    expect(summaryOf({ a: {} })).to.equal('Person ada is reconciled: people/a has no work for it.');
    expect(summaryOf({ a: {}, b: {} })).to.equal(
      'Person ada is reconciled: people/a and people/b have no work for it.',
    );
    const paused = { [pausedAnnotation]: 'a, b' };
    expect(summaryOf({ a: {}, b: {}, c: {} }, paused)).to.equal(
      'Person ada is paused: people/a and people/b do not reconcile it.',
    );
  });
});
