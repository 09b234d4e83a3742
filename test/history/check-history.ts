import type { History, Operation, Violation } from './history.ts';
import { findUnexplained } from './linearizability.ts';
import { checkListMoments } from './list-moments.ts';
import { objectModel } from './object-model.ts';
import { checkRevisionOrder } from './revision-order.ts';
import { knownOperations } from './sightings.ts';
import { checkWatchGuarantees } from './watch-guarantees.ts';

/**
 * Returns all violations of guarantees in a history; an empty list for a history that a single server without faults
 * could have produced.
 */
export function checkHistory(history: History): Violation[] {
  return [
    ...checkLinearizability(history),
    ...checkRevisionOrder(history),
    ...checkListMoments(history),
    ...checkWatchGuarantees(history),
  ];
}

/** Checks each object on its own: a history is linearizable when the history of each object is linearizable. */
export function checkLinearizability(history: History): Violation[] {
  const operations = knownOperations(history);
  return history.keys.flatMap((key) => {
    const ofKey = operations.filter((operation) => operation.key === key);
    const unexplained = findUnexplained(ofKey, objectModel);
    if (unexplained === undefined) return [];
    const states = unexplained.states.map((state) => objectModel.formatState(state));
    const before = ofKey.filter(({ return: end }) => end <= unexplained.operation.return);
    const latest = before.sort((a, b) => a.return - b.return).slice(-6);
    const message = [
      `${key} could be [${[...new Set(states)].slice(0, 5).join(' | ')}], which contradicts the last of these responses:`,
      ...latest.map(operationText),
    ].join('\n    ');
    return [{ guarantee: 'linearizable', message }];
  });
}

function operationText({ client, request, answer, call, return: end }: Operation): string {
  return `${call}-${end} ${client} ${JSON.stringify(request)} -> ${JSON.stringify(answer)}`;
}
