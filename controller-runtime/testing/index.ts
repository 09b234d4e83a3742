// Tools for tests of controllers, against any server.
export { checkConvergenceOn } from './convergence/check-convergence.ts';
export type { CheckOptions } from './convergence/check-convergence.ts';
export { ConvergenceError } from './convergence/convergence-error.ts';
export type { ConvergenceFailure } from './convergence/convergence-error.ts';
export type {
  ConvergenceOptions,
  ConvergenceReport,
  ConvergenceServer,
  RunnableParts,
  ScenarioContext,
  ServerParts,
  StartServer,
} from './convergence/convergence-options.ts';
export type { Difference } from './convergence/state-difference.ts';
export { errorLogger } from './fakes/error-logger.ts';
export { eventually } from './eventually.ts';
export type { EventuallyOptions } from './eventually.ts';
export { createExternalSystem } from './fakes/external-system.ts';
export type {
  CallFault,
  ExternalSystem,
  ExternalSystemOptions,
  OperationContext,
  OperationFunctions,
  Operations,
  RecordedCall,
} from './fakes/external-system.ts';
export { FakeClock } from './fakes/fake-clock.ts';
export { createFaultInjectingFetch } from './fault-injecting-fetch.ts';
export type { Fault, FaultInjectingFetch, RecordedRequest } from './fault-injecting-fetch.ts';
export { createFaultyClient } from './fakes/faulty-client.ts';
export type { FaultyClient, FaultyClientOptions } from './fakes/faulty-client.ts';
export type { ClientFault, LoggedRequest } from './fakes/faulty-requests.ts';
export type { ClientRequest } from './fakes/intercepted-client.ts';
export { seededRandom } from './fakes/seeded-random.ts';
export type { KitInvariants, RunOfWrite, WriteStep } from './run-writes.ts';
export { settle } from './settle.ts';
export type { Participant, SettleOptions } from './settle.ts';
export { testPatienceMs } from './test-patience.ts';
export { createTestKit } from './test-kit.ts';
export type { TestKit, TestKitOptions } from './test-kit.ts';
