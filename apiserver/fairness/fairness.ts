import type { Clock } from '@homeostat/controller-runtime/api';
import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import { Contention, PriorityLevel } from './priority-level.ts';
import type { SeatLimits } from './priority-level.ts';

/** The name of a priority level. Requests of one level never wait for requests of another level. */
export type LevelName = 'system' | 'people' | 'bulk' | 'endpoints';

const unlimited = Number.POSITIVE_INFINITY;

/**
 * The seats of each level. A seat is the right to have one request in progress. While several identities send requests,
 * `people` has 32 seats and `bulk` has 8, and one identity may have only 4 seats of each. With more seats, the server
 * would not be faster, and each request would wait for more other requests. With 32 seats, this wait is short, because
 * the server handles 32 requests in a few milliseconds. While one user floods the server, the requests of another user,
 * who has 4 in progress, take at most three times as long (p99) as without the flood. An identity that is alone gets
 * more seats, since commits of many writes are cheaper, and writes that wait for webhooks take long.
 */
const seats: Readonly<Record<LevelName, { readonly shared: SeatLimits; readonly alone: SeatLimits }>> = {
  // Reads and writes of a single Lease, except its deletion, do not wait for other users, because a controller that
  // cannot renew its Lease in time loses it.
  system: { shared: { inAll: unlimited, ofOne: 64 }, alone: { inAll: unlimited, ofOne: 64 } },
  people: { shared: { inAll: 32, ofOne: 4 }, alone: { inAll: 512, ofOne: 512 } },
  bulk: { shared: { inAll: 8, ofOne: 4 }, alone: { inAll: 64, ofOne: 64 } },
  // Requests to endpoints of plugins may take long, for example streams, so they share no seats with other requests.
  endpoints: { shared: { inAll: unlimited, ofOne: 1000 }, alone: { inAll: unlimited, ofOne: 10_000 } },
};

/**
 * The maximum number of seats of one request. An identity may have this many seats even while other identities send
 * requests, so a request that needs this many seats can start.
 */
export const maxCost = 4;

/**
 * A list that reads at most this number of objects takes one seat of the level `people`. A longer list may take more
 * seats: of the level `people` if the request has a `limit`, otherwise of the level `bulk`.
 */
const smallList = 500;

/**
 * The divisor that gives the seats of a long list: a list of more than {@link smallList} objects takes `objects /
 * objectsOfSeat` seats, rounded up, but at most {@link maxCost}.
 */
const objectsOfSeat = 1000;

/** The priority level of a request, and the number of seats that the request takes. */
export interface Work {
  readonly level: LevelName;
  readonly cost: number;
}

const light: Work = { level: 'people', cost: 1 };

/**
 * Returns the level and the seats of a request that reads this number of objects. `isLimited` is true when the client
 * set the number by a limit.
 */
export function workOfReading(objects: number, isLimited: boolean): Work {
  if (objects <= smallList) return light;
  const cost = Math.min(maxCost, Math.ceil(objects / objectsOfSeat));
  return { level: isLimited ? 'people' : 'bulk', cost };
}

/** The priority levels of a server, and the metrics about the seats and queues of these levels. */
export class Fairness {
  readonly contention: Contention;
  readonly levels: Readonly<Record<LevelName, PriorityLevel>>;

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }) {
    const contention = new Contention(clock);
    const make = (name: LevelName): PriorityLevel => new PriorityLevel({ name, ...seats[name], contention, clock });
    this.contention = contention;
    this.levels = { system: make('system'), people: make('people'), bulk: make('bulk'), endpoints: make('endpoints') };
    this.#sample(metrics);
  }

  #sample(metrics: Metrics): void {
    const labels = ['priority_level'];
    const levels = Object.values(this.levels);
    const executing = {
      name: 'apiserver_flowcontrol_current_executing_seats',
      help: 'Seats of running requests.',
      labels,
    };
    metrics.sample({ ...executing, type: 'gauge' }, () => levels.map(({ name, inUse }) => [[name], inUse]));
    const queued = {
      name: 'apiserver_flowcontrol_current_inqueue_requests',
      help: 'Requests that wait for a seat.',
      labels,
    };
    metrics.sample({ ...queued, type: 'gauge' }, () => levels.map((level) => [[level.name], level.queued]));
    const refused = {
      name: 'apiserver_flowcontrol_rejected_requests_total',
      help: 'Requests that got no seat (429): too many requests waited, the wait was too long, or the client disconnected.',
      labels,
    };
    metrics.sample({ ...refused, type: 'counter' }, () => levels.map((level) => [[level.name], level.refused]));
  }
}
