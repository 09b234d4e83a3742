export { applyDefinition, listOfKind } from './definitions.ts';
export { EventLoopProbe } from './event-loop-probe.ts';
export { HostileProcess } from './hostile-process.ts';
export type { HostileRequest } from './hostile-request.ts';
export { firstRequests, largeRequests, listRequests } from './large-requests.ts';
export type { LargeRequest } from './request-makers.ts';
