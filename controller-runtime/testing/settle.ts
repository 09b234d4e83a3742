import { testPatienceMs } from './test-patience.ts';

/** Something that may be busy: a queue, a worker pool, a handler's buffer, an informer. */
export interface Participant {
  /** The name that the error contains when this participant does not become idle. */
  readonly name: string;
  /** True when no work waits in this participant, and none is under way. */
  isIdle(): boolean;
  /**
   * Called once all participants are idle. Returns true when this participant has received all changes from the server;
   * isIdle cannot know of changes that are still on a connection. If the method is absent, the result counts as true.
   */
  hasCaughtUp?(): Promise<boolean>;
}

export interface SettleOptions {
  /** The time limit in real time, which HOMEOSTAT_TEST_TIME_FACTOR multiplies. Default 5000 ms. */
  readonly timeoutMs?: number;
}

/**
 * The number of idle turns of the event loop that are required. While one participant passes work to another, both may
 * appear idle for a few turns.
 */
const stableTurns = 10;

/**
 * Resolves once all participants have been idle for ten consecutive turns of the event loop, have caught up, and are
 * still idle. Rejects after the time-out with an error that names the participants that are busy or have not caught up.
 */
export async function settle(participants: readonly Participant[], options: SettleOptions = {}): Promise<void> {
  await settleUnless(() => false, participants, options);
}

/**
 * Waits like {@link settle}, and then resolves with false. Resolves with true as soon as `interrupted` returns true.
 */
export async function settleUnless(
  interrupted: () => boolean,
  participants: readonly Participant[],
  options: SettleOptions = {},
): Promise<boolean> {
  const timeoutMs = testPatienceMs(options.timeoutMs ?? 5000);
  const deadlineMs = performance.now() + timeoutMs;
  let busy: readonly string[] = [];
  for (let stable = 0; performance.now() < deadlineMs;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (interrupted()) return true;
    const working = participants.filter((participant) => !participant.isIdle());
    stable = working.length === 0 ? stable + 1 : 0;
    if (working.length > 0) busy = namesOf(working);
    if (stable < stableTurns) continue;
    busy = await behind(participants);
    if (busy.length === 0 && participants.every((participant) => participant.isIdle())) return false;
    stable = 0;
  }
  // On a busy machine, the time may be over before the loop has called `behind`, so it is called here.
  if (busy.length === 0) busy = await behind(participants);
  throw new Error(
    `not settled within ${timeoutMs} ms; still busy: ${busy.join(', ') || 'work that starts again repeatedly'}`,
  );
}

async function behind(participants: readonly Participant[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    participants.map(async (participant) => ({
      participant,
      caughtUp: (await participant.hasCaughtUp?.()) ?? true,
    })),
  );
  return namesOf(answers.filter(({ caughtUp }) => !caughtUp).map(({ participant }) => participant));
}

function namesOf(participants: readonly Participant[]): readonly string[] {
  return participants.map(({ name }) => name);
}
