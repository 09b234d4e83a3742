import type { Socket } from 'node:net';
import type { Context, Middleware } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import { discardRest } from '../../decode/read-body.ts';
import { maxCost, workOfReading } from '../../fairness/fairness.ts';
import type { Fairness, Work } from '../../fairness/fairness.ts';
import type { Flow, PriorityLevel } from '../../fairness/priority-level.ts';
import { anonymous } from '../../identity/user-info.ts';
import { isOpenPath, withoutTrailingSlash } from '../pages/health.ts';
import { askedOf } from '../request/request-verb.ts';
import { callerOf } from '../request/caller.ts';
import { firstOf } from '../request/query.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

export interface FairShareParts {
  readonly fairness: Fairness;
  readonly proxies: TrustedProxies;
  /** Called with the connection of each request that has a valid credential. */
  readonly onKnown: (socket: Socket) => void;
  /** The number of objects of a kind; undefined for a path without objects. */
  readonly sizeOf: (kind: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  }) => number | undefined;
}

const light: Work = { level: 'people', cost: 1 };
const lease: Work = { level: 'system', cost: 1 };
const endpoint: Work = { level: 'endpoints', cost: 1 };
const wholeStore: Work = { level: 'bulk', cost: maxCost };

const exportPaths: ReadonlySet<string> = new Set(['/export', '/export/decrypted']);

const leaseVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch']);

/**
 * Lets a request wait for its seat, behind other requests of the same user; health checks need none. A watch has a seat only
 * until it has begun.
 */
export function fairShare(parts: FairShareParts): Middleware {
  const { fairness } = parts;
  return function waitForSeat(context, next): Promise<void> {
    if (isOpenPath(context.path)) return next() as Promise<void>;
    const identity = identityOf(context, parts);
    const { level: name, cost } = workOf(context, parts);
    if (name !== 'system') fairness.contention.note(identity);
    const level = fairness.level(name);
    const flow = enter(context, level, { identity, cost });
    if (flow instanceof Promise) return flow.then((found) => hold(level, { flow: found, cost }, next));
    return hold(level, { flow, cost }, next);
  };
}

function enter(
  context: Context,
  level: PriorityLevel,
  { identity, cost }: { readonly identity: string; readonly cost: number },
): Flow | Promise<Flow> {
  try {
    const flow = level.enter(identity, cost, context.res);
    return flow instanceof Promise ? flow.catch((error: unknown) => refuse(context, error)) : flow;
  } catch (error) {
    return refuse(context, error);
  }
}

function refuse(context: Context, error: unknown): never {
  discardRest(context.req);
  throw error;
}

async function hold(
  level: PriorityLevel,
  { flow, cost }: { readonly flow: Flow; readonly cost: number },
  next: () => Promise<unknown>,
): Promise<void> {
  try {
    await next();
  } finally {
    level.leave(flow, cost);
  }
}

/** Clients without a credential are distinguished by their address. */
function identityOf(context: Context, { proxies, onKnown }: FairShareParts): string {
  const { username } = callerOf(context);
  if (username === anonymous.username) return `${username} ${proxies.addressOf(context)}`;
  onKnown(context.req.socket);
  return username;
}

function workOf(context: Context, { sizeOf }: FairShareParts): Work {
  const asked = askedOf(context);
  if (!asked.isResource) return exportPaths.has(withoutTrailingSlash(asked.path)) ? wholeStore : endpoint;
  if (isLease(asked)) return lease;
  const size = sizeOf(asked);
  if (size === undefined) return endpoint;
  const { verb } = asked;
  if (verb === 'deletecollection') return { level: 'bulk', cost: workOfReading(size, true).cost };
  if (verb === 'list') return workOfList(context, size);
  if (verb !== 'watch') return light;
  const from = firstOf(context.query, 'resourceVersion') ?? '0';
  return from === '0' ? workOfReading(size, false) : light;
}

function isLease({ group, resource, verb }: Attributes & { readonly isResource: true }): boolean {
  return resource === 'leases' && group === 'coordination.k8s.io' && leaseVerbs.has(verb);
}

function workOfList(context: Context, size: number): Work {
  const limit = Number(firstOf(context.query, 'limit') ?? firstOf(context.query, 'size'));
  return limit > 0 ? workOfReading(Math.min(limit, size), true) : workOfReading(size, false);
}
