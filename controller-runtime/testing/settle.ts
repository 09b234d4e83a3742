import { testPatienceMs } from './test-patience.ts';

/** Something that may be busy: a queue, a worker pool, a handler's buffer, an informer. */
export interface Participant {
  /** Named in the error when it does not become idle. */
  readonly name: string;
  /** True when nothing waits here, and nothing is under way. */
  isIdle(): boolean;
  /**
   * Called once all are idle; returns true when this participant has received everything that the server has. Changes
   * on a connection are invisible to isIdle. When absent, it counts as true.
   */
  hasCaughtUp?(): Promise<boolean>;
}

export interface SettleOptions {
  /** Real time, which HOMEOSTAT_TEST_TIME_FACTOR multiplies. Default 5000 ms. */
  readonly timeoutMs?: number;
}

/** Work that passes between two participants may take a few turns of the event loop, during which both look idle. */
const stableTurns = 10;

/**
 * Resolves once all participants have been idle for ten turns of the event loop in a row, have caught up, and are
 * still idle. Rejects after the time-out, and names those that are not.
 */
export async function settle(participants: readonly Participant[], options: SettleOptions = {}): Promise<void> {
  await settleUnless(() => false, participants, options);
}

/** Settles like {@link settle}, and resolves with false; or with true as soon as the work is `interrupted`. */
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
  // On a busy machine, the time may be over before any participant was asked whether it has caught up.
  if (busy.length === 0) busy = await behind(participants);
  throw new Error(
    `not settled within ${timeoutMs} ms; still busy: ${busy.join(', ') || 'work that starts again and again'}`,
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
