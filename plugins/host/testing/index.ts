// Tests of plugins against a real server in process.
export { checkConvergence } from './check-convergence.ts';
export { startTestServer } from './test-server.ts';
export type { TestServer, TestServerOptions } from './test-server.ts';
export { silentLogger } from '@homeostat/controller-runtime/api';
export {
  ConvergenceError,
  createFaultInjectingFetch,
  createFaultyClient,
  createTestKit,
  eventually,
  FakeClock,
  testPatienceMs,
} from '@homeostat/controller-runtime/testing';
export type {
  ClientFault,
  ClientRequest,
  ConvergenceOptions,
  ConvergenceReport,
  Difference,
  EventuallyOptions,
  Fault,
  FaultyClient,
  LoggedRequest,
  RunnableParts,
  ScenarioContext,
  SettleOptions,
  TestKit,
} from '@homeostat/controller-runtime/testing';
