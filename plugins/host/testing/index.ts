// Tests of plugins against a real server in process.
export { startTestServer } from './test-server.ts';
export type { TestServer, TestServerOptions } from './test-server.ts';
export { createFaultInjectingFetch, eventually, FakeClock } from '@homeostat/controller-runtime/testing';
export type { EventuallyOptions, Fault, SettleOptions } from '@homeostat/controller-runtime/testing';
