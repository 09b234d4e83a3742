// Tests of plugins against a real server in process.
export { checkConvergence } from './check-convergence.ts';
export { startTestServer } from './test-server.ts';
export type { TestServer, TestServerOptions } from './test-server.ts';
export { silentLogger } from '@homeostat/controller-runtime/api';
export {
  ConvergenceError,
  createExternalSystem,
  createFaultInjectingFetch,
  createFaultyClient,
  createTestKit,
  eventually,
  FakeClock,
  testPatienceMs,
} from '@homeostat/controller-runtime/testing';
export type {
  CallFault,
  ClientFault,
  ClientRequest,
  ConvergenceOptions,
  ConvergenceReport,
  Difference,
  EventuallyOptions,
  ExternalSystem,
  ExternalSystemOptions,
  Fault,
  FaultyClient,
  LoggedRequest,
  OperationContext,
  OperationFunctions,
  Operations,
  RecordedCall,
  RunnableParts,
  ScenarioContext,
  SettleOptions,
  TestKit,
} from '@homeostat/controller-runtime/testing';
