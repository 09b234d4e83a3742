import { expect } from 'chai';
import { ApiError, isFormerLeader } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { CacheView } from './cache-view.ts';
import { ensureDependent } from './ensure-dependent.ts';
import { Badge } from '../harness.test-support.ts';

describe('ensureDependent', () => {
  it('does not retry a write that is refused because the leader’s term is over', async () => {
    const requests: string[] = [];
    const refused = new ApiError('Conflict', 'over', { causes: [{ reason: 'FormerLeader', message: 'over' }] });
    const client = {
      get: async () => {
        requests.push('get');
        throw new ApiError('NotFound', 'none');
      },
      create: async () => {
        requests.push('create');
        throw refused;
      },
    } as Partial<Client> as Client;
    const view = { follows: () => true, read: () => undefined } as Partial<CacheView> as CacheView;
    const owner = { apiVersion: 'v1', kind: 'Person', metadata: { name: 'ada', uid: 'u' } } as ApiObject;
    const ensured = ensureDependent({ client, view, owner }, { model: Badge, key: 'badge' }, { spec: { text: 'x' } });
    expect(await ensured.catch((error: unknown) => error)).to.satisfy(isFormerLeader);
    expect(requests).to.deep.equal(['create']);
  });
});
