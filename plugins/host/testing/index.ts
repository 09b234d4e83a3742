// Functions to test plugins against a real server in the process of the test.
export { checkConvergence } from './check-convergence.ts';
export { planChanges } from './plan-changes.ts';
export type { ChangePlan, PlannedChange, PlannedFailure, PlanOptions } from './plan-changes.ts';
export type { ExternalCall } from './refuse-network.ts';
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
  KitInvariants,
  LoggedRequest,
  OperationContext,
  OperationFunctions,
  Operations,
  RecordedCall,
  RunnableParts,
  RunOfWrite,
  ScenarioContext,
  SettleOptions,
  TestKit,
  WriteStep,
} from '@homeostat/controller-runtime/testing';
