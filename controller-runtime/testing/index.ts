// What tests of controllers need, against a server that they are given.
export { eventually } from './eventually.ts';
export type { EventuallyOptions } from './eventually.ts';
export { FakeClock } from './fake-clock.ts';
export { createFaultInjectingFetch } from './fault-injecting-fetch.ts';
export type { Fault, FaultInjectingFetch, RecordedRequest } from './fault-injecting-fetch.ts';
export { settle } from './settle.ts';
export type { Participant, SettleOptions } from './settle.ts';
export { createTestKit } from './test-kit.ts';
export type { TestKit, TestKitOptions } from './test-kit.ts';
