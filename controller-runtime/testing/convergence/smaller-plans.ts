import { atOnce } from './fault-plan.ts';
import type { FaultPlan, Restart } from './fault-plan.ts';

/**
 * Yields each plan that has one fault less, or one simpler fault, such as an immediate restart or an immediate failure.
 */
export function* smallerPlans(plan: FaultPlan): Generator<FaultPlan> {
  const { atWrite, atRead, atEvent, atCall } = plan;
  for (const smaller of smallerMaps(atWrite)) yield { ...plan, atWrite: smaller };
  for (const smaller of smallerMaps(atRead)) yield { ...plan, atRead: smaller };
  for (const smaller of smallerMaps(atEvent)) yield { ...plan, atEvent: smaller };
  for (const smaller of smallerMaps(atCall)) yield { ...plan, atCall: smaller };
}

interface AnyFault {
  readonly kind: string;
  readonly restart?: Restart;
  readonly lateMs?: number;
  readonly behindMs?: number;
}

function* smallerMaps<F extends AnyFault>(faults: ReadonlyMap<number, F>): Generator<ReadonlyMap<number, F>> {
  for (const place of faults.keys()) yield new Map([...faults].filter(([other]) => other !== place));
  for (const [place, fault] of faults) {
    for (const simpler of simplerFaults(fault)) yield new Map([...faults, [place, simpler]]);
  }
}

function* simplerFaults<F extends AnyFault>(fault: F): Generator<F> {
  const { restart, lateMs = 0, behindMs = 0 } = fault;
  if (lateMs > 0) yield { ...fault, lateMs: 0 };
  if (behindMs > 0) yield { ...fault, behindMs: 0 };
  if (restart === undefined) return;
  if (restart.changesBehind > 0) yield { ...fault, restart: { ...atOnce, afterMs: restart.afterMs } };
  if (restart.afterMs > 0) yield { ...fault, restart: { ...restart, afterMs: 0 } };
}
