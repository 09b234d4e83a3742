import { expect } from 'chai';
import { shardOf } from '../base/shard-of.ts';
import type { ApiObject } from '../object/object.ts';
import type { ControllerKey, ControllerObject } from './controller-state.ts';
import { explainObject } from './explain-object.ts';

const shards = 4;
const metadata = { name: 'ada', uid: 'u', resourceVersion: '7', generation: 1 };
const object = { apiVersion: 'people.example.com/v1', kind: 'Person', metadata } as ApiObject;

/**
 * Returns the report of a shard whose queue contains the key `ada`. The report has this key even when `ada` belongs to
 * another shard, as if the process had kept the key from a shard that it held before.
 */
function report(index: number, key: Partial<ControllerKey>): ControllerObject {
  const keys = [{ key: 'ada', state: 'delayed', attempts: 0, ...key }];
  return {
    spec: {
      controller: 'people/person',
      reconciles: { apiVersion: 'people.example.com/v1', kind: 'Person' },
      concurrency: 4,
      shard: { index, of: shards },
    },
    status: { running: true, keys },
  } as unknown as ControllerObject;
}

describe('the explanation of an object with a sharded controller', () => {
  it('uses only the report of the shard to which the object belongs', () => {
    const own = shardOf('ada', shards);
    const controllers = [0, 1, 2, 3].map((index) =>
      report(index, index === own ? { attempts: 3, lastError: 'no luck' } : { state: 'ready' }),
    );
    const explanation = explainObject({ object, controllers, runs: [], owners: [], nowMs: 0 });
    expect(explanation.controllers.map(({ key }) => key?.lastError)).to.deep.equal(['no luck']);
    expect(explanation.state).to.equal('Failing');
  });
});
