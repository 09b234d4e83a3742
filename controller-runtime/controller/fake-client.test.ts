import { describePreconditions } from '../client/client-preconditions.contract.ts';
import { FakeClient } from './fake-client.test-support.ts';

describePreconditions('the fake client of the controller tests', async () => ({
  client: new FakeClient(),
  serve: async () => {},
  withdraw: () => {},
  close: async () => {},
}));
