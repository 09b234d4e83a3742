import type { ApiObject, Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import { createManager } from '../manager/manager.ts';
import { finalStateOf } from './convergence/final-state.ts';
import type { FinalState } from './convergence/final-state.ts';
import { differencesOf } from './convergence/state-difference.ts';
import type { ExternalSystem } from './fakes/external-system.ts';
import { FollowedKinds } from './fakes/followed-kinds.ts';
import { describeRequest } from './fakes/intercepted-client.ts';
import { WriteRecorder } from './fakes/write-recorder.ts';
import type { RecordedWrite } from './fakes/write-recorder.ts';
import { describeFailure, failedRuns } from './convergence/failed-runs.ts';
import { settle } from './settle.ts';
import type { Participant, SettleOptions } from './settle.ts';

export interface ResyncParts {
  readonly client: Client;
  readonly controllers: readonly ControllerDefinition[];
  /** The clock of the manager. Default: the system clock. */
  readonly clock: Clock | undefined;
  readonly logger: Logger;
  readonly externalSystems: readonly ExternalSystem[];
  readonly participants: readonly Participant[];
}

/**
 * Reconciles every object once in a new manager, like after a restart of the controllers' process. Rejects when a run
 * sends a write, calls an external system or fails. The error names the first write with the fields that it changed.
 */
export async function expectConverged(parts: ResyncParts, options?: SettleOptions): Promise<void> {
  const { client, controllers, clock, logger, externalSystems, participants } = parts;
  const time = clock === undefined ? {} : { clock };
  const recorder = new WriteRecorder(client, clock);
  const callsBefore = externalSystems.map(({ calls }) => calls.length);
  const followed = new FollowedKinds();
  const manager = createManager({
    client: followed.tracking(recorder.client),
    controllers,
    ...time,
    logger,
    graceMs: 0,
  });
  const stop = new AbortController();
  const stopped = manager.run(stop.signal);
  let failing: readonly string[] = [];
  try {
    const resync: Participant = {
      name: 'resync',
      isIdle: () => manager.isIdle(),
      hasCaughtUp: () => followed.haveCaughtUp(client),
    };
    await settle([resync, ...participants], options);
    failing = failedRuns(manager).map((each) => `failure of ${describeFailure(each)}`);
  } finally {
    stop.abort();
    await stopped;
  }
  const calls = externalSystems.flatMap(({ name, calls: all }, index) =>
    all.slice(callsBefore[index]).map(({ operation }) => `call of ${operation} of external system "${name}"`),
  );
  const found = [...describeWrites(recorder.writes), ...calls, ...failing];
  if (found.length === 0) return;
  throw new Error(`the controllers have not converged: a resync made\n${found.map((each) => `  ${each}`).join('\n')}`);
}

/** Describes the first write with the fields that it changed, and counts the others. */
function describeWrites([first, ...others]: readonly RecordedWrite[]): readonly string[] {
  if (first === undefined) return [];
  const { request, before, after } = first;
  const changes =
    before === undefined || after === undefined
      ? []
      : differencesOf(stateOf(before), stateOf(after)).map(
          ({ path, expected, found }) => `${path}: ${textOf(expected)} -> ${textOf(found)}`,
        );
  const more = others.length === 0 ? [] : [`and ${others.length} more writes`];
  return [[describeRequest(request), ...changes].join('\n    '), ...more];
}

function stateOf(object: ApiObject): FinalState {
  return finalStateOf([object], { generatedNames: false, normalise: (same) => same, externalSystems: [] });
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
