import type { Child } from './child.ts';
import { median } from './figures.ts';
import type { Figures } from './figures.ts';
import { loadHttp } from './http-load.ts';
import type { Row } from './result-table.ts';
import { alternate } from './rounds.ts';
import type { Settings } from './settings.ts';

const connections = 64;

/** A server, and the requests that it gets. */
export interface Served {
  readonly child: Child;
  readonly url: string;
  readonly request: () => string;
}

/**
 * Throughput and processor time of one server beside those of another one. The target is a share of processor time:
 * on a machine with other work, throughput depends on the share that each server happens to get.
 */
export async function besideOther(
  name: string,
  { ours, limit, least }: { readonly ours: Served; readonly limit: Served; readonly least?: number },
  { rounds, seconds }: Settings,
): Promise<Row> {
  const costs = { ours: [] as number[], limit: [] as number[] };
  const found = await alternate(rounds, {
    ours: () => measured(ours, seconds, costs.ours),
    limit: () => measured(limit, seconds, costs.limit),
  });
  const [own, other] = [median(costs.ours.slice(1)), median(costs.limit.slice(1))];
  const ratio = median(costs.ours.slice(1).map((cost, round) => (costs.limit[round + 1] ?? Number.NaN) / cost));
  const note = `${own.toFixed(1)} us of processor time; the other: ${other.toFixed(1)} us`;
  if (least === undefined) return { name, ...found, note };
  const target = { text: `processor time ${ratio.toFixed(3)} >= ${least.toString()}`, isMet: ratio >= least };
  return { name, ...found, target, note };
}

/** Adds the microseconds of processor time of an operation to `costs`. */
async function measured({ child, url, request }: Served, seconds: number, costs: number[]): Promise<Figures> {
  let sent = 0;
  const counted = (): string => {
    sent += 1;
    return request();
  };
  const beforeMs = child.cpuMs();
  const figures = await loadHttp({ url, connections, seconds, request: counted });
  costs.push(((child.cpuMs() - beforeMs) / sent) * 1000);
  return figures;
}
