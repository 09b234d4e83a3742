import { expect } from 'chai';
import { healthOf, isBadCondition } from './object.ts';
import type { ApiObject } from './object.ts';

const withStatus = (status: ApiObject['status'], metadata: ApiObject['metadata'] = {}): ApiObject => ({
  metadata: { name: 'a', generation: 2, ...metadata },
  ...(status === undefined ? {} : { status }),
});
const condition = (type: string, status: string) => ({ conditions: [{ type, status }] });

describe('the health of an object', () => {
  it('is `failing` when a condition such as Ready is False, a condition such as DiskPressure is True, or the phase is Failed', () => {
    expect(healthOf(withStatus(condition('Ready', 'False')))).to.equal('failing');
    expect(healthOf(withStatus(condition('Ready', 'True')))).to.equal('ok');
    expect(healthOf(withStatus(condition('DiskPressure', 'True')))).to.equal('failing');
    expect(healthOf(withStatus(condition('DiskPressure', 'False')))).to.equal('ok');
    expect(healthOf(withStatus({ phase: 'Failed' }))).to.equal('failing');
    // For a type of condition that only a plugin knows, the console cannot tell whether False is bad.
    expect(isBadCondition({ type: 'Painted', status: 'False' })).to.equal(false);
  });

  it('is `deleting` during deletion; `progressing` for an Unknown condition, a phase such as Pending, or an old observedGeneration', () => {
    expect(healthOf(withStatus(condition('Ready', 'False'), { deletionTimestamp: 'now' }))).to.equal('deleting');
    expect(healthOf(withStatus({ observedGeneration: 1 }))).to.equal('progressing');
    expect(healthOf(withStatus({ observedGeneration: 2 }))).to.equal('ok');
    expect(healthOf(withStatus(condition('Painted', 'Unknown')))).to.equal('progressing');
    expect(healthOf(withStatus({ phase: 'Pending' }))).to.equal('progressing');
    expect(healthOf(withStatus(undefined))).to.equal('ok');
  });
});
