import type { Socket } from 'node:net';
import type { Context } from 'koa';
import { maxCost, workOfReading } from '../../fairness/fairness.ts';
import type { Fairness, Work } from '../../fairness/fairness.ts';
import type { Flow, PriorityLevel } from '../../fairness/priority-level.ts';
import { anonymous } from '../../identity/user-info.ts';
import { withoutTrailingSlash } from '../pages/health.ts';
import { askedOf } from '../request/resource-path.ts';
import { callerOf } from '../request/request-state.ts';
import { firstOf, queryOf } from '../request/query.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

/** The connections of the server, as far as this guard needs them. */
export interface Connections {
  /** True once the server has begun to stop. */
  readonly isStopping: boolean;
  /** Notes that a request with a valid credential has arrived on this connection. */
  know(socket: Socket): void;
}

/** The source of the number of objects that each kind has. */
interface KindSizes {
  /** Returns the number of objects of a kind, in a namespace or in all; undefined for a kind that is not served. */
  sizeOf(group: string, version: string, plural: string, place?: Place): number | undefined;
}

interface Place {
  readonly namespace?: string | undefined;
}

export interface FairShareParts {
  readonly fairness: Fairness;
  readonly proxies: TrustedProxies;
  readonly connections: Connections;
  readonly table: KindSizes;
}

const light: Work = { level: 'people', cost: 1 };
const lease: Work = { level: 'system', cost: 1 };
const endpoint: Work = { level: 'endpoints', cost: 1 };
const wholeStore: Work = { level: 'bulk', cost: maxCost };

const copyPaths: ReadonlySet<string> = new Set(['/backup', '/export', '/export/decrypted']);

/**
 * The verbs whose work depends on the number of objects. To count the objects of a namespace takes a search of the
 * index, so they are not counted for other verbs.
 */
const readsMany: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

const leaseVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch']);

/** The seats that a request has in its priority level, until the request ends. */
export interface Seats {
  readonly level: PriorityLevel;
  readonly flow: Flow;
  readonly cost: number;
}

/**
 * Takes seats for a request. Returns a promise when the request has to wait for them.
 * @throws ApiError TooManyRequests, or rejects with it
 */
export function askForSeats(context: Context, parts: FairShareParts): Seats | Promise<Seats> {
  const { fairness, proxies, connections } = parts;
  const { username } = callerOf(context);
  // Clients without a credential are distinguished by their address.
  const isKnown = username !== anonymous.username;
  const identity = isKnown ? username : `${username} ${proxies.addressOf(context)}`;
  if (isKnown) connections.know(context.req.socket);
  const { level: name, cost } = workOf(context, parts);
  if (name !== 'system') fairness.contention.note(identity);
  const level = fairness.levels[name];
  const flow = level.enter(identity, cost, context.state.outgoing);
  return flow instanceof Promise ? flow.then((found) => ({ level, flow: found, cost })) : { level, flow, cost };
}

function workOf(context: Context, { table }: FairShareParts): Work {
  const asked = askedOf(context);
  if (!asked.isResource) return copyPaths.has(withoutTrailingSlash(asked.path)) ? wholeStore : endpoint;
  const { group, version, resource, verb } = asked;
  if (resource === 'leases' && group === 'coordination.k8s.io' && leaseVerbs.has(verb)) return lease;
  const all = table.sizeOf(group, version, resource);
  if (all === undefined) return endpoint;
  if (!readsMany.has(verb)) return light;
  const size = asked.namespace === undefined ? all : (table.sizeOf(group, version, resource, asked) ?? all);
  if (verb === 'deletecollection') return { level: 'bulk', cost: workOfReading(size, true).cost };
  if (verb === 'list') return workOfList(context, size);
  const from = firstOf(queryOf(context), 'resourceVersion') ?? '0';
  return from === '0' ? workOfReading(size, false) : light;
}

function workOfList(context: Context, size: number): Work {
  const query = queryOf(context);
  const limit = Number(firstOf(query, 'limit') ?? firstOf(query, 'size'));
  return limit > 0 ? workOfReading(Math.min(limit, size), true) : workOfReading(size, false);
}
